// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/framework.h"

#include <algorithm>
#include <array>

namespace config::launch {

std::span<const Framework* const> frameworks() {
  static constexpr std::array kAll{&kMegatron, &kMegatronBridge, &kTorchtitan, &kDeepspeed, &kAccelerate, &kNemo};
  return kAll;
}

const Framework* framework_named(std::string_view name) {
  const auto all = frameworks();
  const auto it = std::find_if(all.begin(), all.end(), [&](const Framework* one) { return one->name == name; });
  return it == all.end() ? nullptr : *it;
}

std::string torchrun(const spec::Job& job) {
  const std::string gpus = std::to_string(job.cluster.node.gpus), nodes = std::to_string(job.cluster.nodes);
  if (job.cluster.nodes == 1) return "torchrun --standalone --nproc-per-node " + gpus;
  return "torchrun --nnodes " + nodes + " --nproc-per-node " + gpus +
         " --rdzv-backend c10d --rdzv-id \"${SLURM_JOB_ID:-forerun}\" --rdzv-endpoint \"${HEAD_NODE:?names the first "
         "node}:29500\"";
}

std::string heading(const Export& e, std::string_view comment) {
  const std::string mark(comment);
  return mark + e.job.model.name + " on " + spec::nodes_text(e.job.cluster) + ", " +
         std::to_string(e.job.cluster.gpus()) + " GPUs, for " + e.table.title + "; written by forerun export.\n";
}

}  // namespace config::launch
