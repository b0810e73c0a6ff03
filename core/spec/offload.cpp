// core/spec/offload.cpp -- rules of offloading (declared in rules.h).
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/offload.h"

#include <string>

#include "core/spec/job.h"

namespace spec {

std::vector<base::Fault> offload_faults(const Job& job) {
  std::vector<base::Fault> faults;
  const Strategy& s = job.strategy;
  const Offload& o = s.offload;
  if (!o.any()) return faults;
  const auto refuse = [&](bool given, const std::string& field, const std::string& what, const std::string& mend) {
    if (given) faults.push_back({field, what, mend});
  };
  const std::string optimizer = "strategy.offload.optimizer", parameters = "strategy.offload.parameters";
  refuse(o.updates_on_host() && s.zero == 0, optimizer, "states leave the GPU shard by shard, and zero 0 has no shards",
         "write zero: 1, 2 or 3");
  refuse(o.states_on_drives() && s.zero < 3, optimizer, "states are kept on drives beside sharded parameters alone",
         "write zero: 3, or optimizer: cpu");
  refuse(o.fetches_parameters() && s.zero < 3, parameters, "only shards of parameters leave the GPU",
         "write zero: 3, or parameters: none");
  const Framework& framework = job.framework;
  refuse(o.uses_nvme() && !framework.offloads_to_drives, o.states_on_drives() ? optimizer : parameters,
         framework.name + " keeps nothing on drives", "write cpu, or framework: deepspeed");
  refuse(o.fetches_parameters() && !framework.offloads_parameters, parameters,
         framework.name + " keeps parameters on the GPU", "write parameters: none, or framework: deepspeed or torch");
  refuse(framework.updates_where_kept && s.zero == 3 && o.fetches_parameters() != o.updates_on_host(),
         o.fetches_parameters() ? optimizer : parameters,
         "the optimizer of " + framework.name + " updates its shards where they are, so both leave the GPU or none",
         "write offload: {optimizer: cpu, parameters: cpu}");
  refuse(s.traits().two_copies() || !s.traits().flushes, "strategy.offload",
         "offloading in a schedule with two copies of the model or without a flush is not supported by this version",
         "write another schedule");
  refuse(o.updates_on_host() && job.training.optimizer == Optimizer::adamw8bit, optimizer,
         "8-bit states are updated on the GPU alone", "write training.optimizer: adamw");
  const Node& node = job.cluster.node;
  refuse(!(node.pcie.bandwidth.si() >= 1), "cluster.node.pcie.bandwidth", "is zero, and what is offloaded crosses it",
         "write its bandwidth, such as 63GB/s");
  refuse(!(node.host.bandwidth.si() >= 1) || !(node.host.memory.si() >= 1), "cluster.node.host",
         "has no memory, and what is offloaded goes there", "write host: {memory: 1TB, bandwidth: 200GB/s}");
  refuse(o.uses_nvme() && (!(node.nvme.read.si() >= 1) || !(node.nvme.write.si() >= 1)), "cluster.node.nvme",
         "is missing, and states are kept there", "write nvme: {read: 6.9GB/s, write: 4.2GB/s}, or offload to cpu");
  return faults;
}

}  // namespace spec
