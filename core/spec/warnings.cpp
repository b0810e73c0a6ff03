// core/spec/warnings.cpp -- what is told about a Job though it is no fault (declared in job.h).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/spec/rules.h"

namespace spec {

std::vector<std::string> warnings(const Job& job) {
  std::vector<std::string> out;
  const Node& node = job.cluster.node;
  const Model& model = job.model;
  const std::string sequence =
      "a sequence of " + text(job.training.sequence) + " tokens is beyond the model's maximum of ";
  if (model.max_positions > 0 && job.training.sequence > model.max_positions) {
    out.push_back(sequence + text(model.max_positions));
  }
  const bool nvlink = node.nvlink.via != Switch::none;
  const int reach = std::max(node.gpus, nvlink ? node.nvlink.domain : 1);
  if (job.strategy.tp > reach) {
    out.push_back("tp " + text(job.strategy.tp) + " reaches across nodes of " + text(reach) + " GPUs");
  }
  if (node.calibration.name.empty() || node.calibration.name.starts_with("defaults-")) {
    out.push_back("no calibration was fitted to " + node.gpu.name +
                  ": its kernels are priced as usual for its generation");
  }
  if (!job.training.fp8_recipe.empty() && job.training.precision != Dtype::fp8) {
    out.push_back("fp8_recipe has no effect with precision " + std::string(name(job.training.precision)));
  }
  for (std::string& line : port_warnings(job.cluster)) out.push_back(std::move(line));
  for (std::string& line : serving_warnings(job)) out.push_back(std::move(line));
  return out;
}

}  // namespace spec
