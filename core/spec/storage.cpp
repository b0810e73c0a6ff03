// core/spec/storage.cpp -- rules of input data and checkpoints (declared in rules.h).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/spec/rules.h"

namespace spec {

std::vector<base::Fault> storage_faults(const Job& job) {
  std::vector<base::Fault> faults;
  const Training& t = job.training;
  const Node& node = job.cluster.node;
  if (t.data) {
    if (t.data->bytes_per_token.has_value() == t.data->bytes_per_sample.has_value()) {
      faults.push_back({"training.data", "needs either bytes_per_token or bytes_per_sample",
                        "write one of them, such as bytes_per_sample: 110kB"});
    } else if (t.data->bytes_per_token && job.model.is_list()) {
      faults.push_back({"training.data.bytes_per_token", "the model has no tokens", "write bytes_per_sample"});
    }
    const double most = std::max(t.data->bytes_per_token.value_or(base::Bytes()).si() * static_cast<double>(t.sequence),
                                 t.data->bytes_per_sample.value_or(base::Bytes()).si());
    if (most * static_cast<double>(t.global_batch) > 1e18) {
      faults.push_back({"training.data", "a step would read more than 10^18 bytes", "check it for a digit too many"});
    }
    if (!(t.data->bandwidth.si() >= 1)) {
      faults.push_back({"training.data.bandwidth", "is zero", "write what one node reads, such as 5GB/s"});
    }
  }
  if (!t.checkpoint) return faults;
  const Checkpoint& c = *t.checkpoint;
  if (c.bandwidth ? !(c.bandwidth->si() >= 1) : c.shared || !(node.nvme.write.si() >= 1)) {
    faults.push_back({"training.checkpoint.bandwidth",
                      c.bandwidth ? "is zero"
                      : c.shared  ? "is missing for shared storage"
                                  : "the node has no NVMe",
                      "write what one node writes, such as 5GB/s"});
  }
  if (!(node.pcie.bandwidth.si() >= 1)) {
    faults.push_back({"cluster.node.pcie.bandwidth", "is zero, and checkpoints leave the GPU over it",
                      "write its bandwidth, such as 63GB/s"});
  }
  return faults;
}

}  // namespace spec
