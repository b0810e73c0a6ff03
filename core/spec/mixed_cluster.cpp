// SPDX-License-Identifier: Apache-2.0
#include "core/spec/mixed_cluster.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>

namespace spec {
namespace {

std::string field_of(std::size_t group) { return "cluster.node[" + std::to_string(group) + "]"; }

bool is_amd(const Node& node) { return traits_of(node.gpu.generation).amd; }

/// The faults of a cluster of that group alone that are about its nodes.
void add_own(const Job& job, std::size_t group, std::vector<base::Fault>& faults) {
  Job alone = job;
  alone.cluster = job.cluster.of_kind(static_cast<int>(group));
  const std::string prefix = "cluster.node";
  for (base::Fault& fault : check(alone)) {
    if (!fault.field.starts_with(prefix) && fault.field != "training.precision" &&
        fault.field != "strategy.attention_kernel")
      continue;
    if (fault.field.starts_with(prefix)) fault.field = field_of(group) + fault.field.substr(prefix.size());
    faults.push_back(std::move(fault));
  }
}

}  // namespace

int least_able(const Cluster& cluster) {
  const auto ability = [](const NodeGroup& group) {
    const Gpu& gpu = group.node.gpu;
    return std::tuple(gpu.generation, gpu.peak_of(Dtype::bf16).si(), gpu.peak_of(Dtype::fp16).si());
  };
  const auto least = std::min_element(cluster.groups.begin(), cluster.groups.end(),
                                      [&](const auto& a, const auto& b) { return ability(a) < ability(b); });
  return static_cast<int>(least - cluster.groups.begin());
}

bool even_nodes(const Cluster& cluster) {
  return std::ranges::all_of(
      cluster.groups, [&](const NodeGroup& group) { return group.node.gpus == cluster.groups.front().node.gpus; });
}

std::vector<base::Fault> mixed_cluster_faults(const Job& job) {
  std::vector<base::Fault> faults;
  const Cluster& cluster = job.cluster;
  if (!cluster.mixed()) return faults;
  const Node& first = cluster.groups.front().node;
  for (std::size_t g = 0; g < cluster.groups.size(); ++g) {
    const Node& node = cluster.groups[g].node;
    if (node.gpus != first.gpus) {
      const int fewest = std::min(node.gpus, first.gpus);
      const bool racks = std::max(node.nvlink.domain, first.nvlink.domain) > std::max(node.gpus, first.gpus);
      faults.push_back({field_of(g),
                        "nodes of " + std::to_string(node.gpus) + " GPUs beside nodes of " +
                            std::to_string(first.gpus) + " are not supported by this version",
                        racks ? "choose nodes of as many GPUs whose NVLink joins as many"
                              : "write gpus: " + std::to_string(fewest) + " for both"});
    }
    if (node.nvlinked() != first.nvlinked()) {
      faults.push_back({field_of(g),
                        "NVLink domains of " + std::to_string(node.nvlinked()) + " and of " +
                            std::to_string(first.nvlinked()) +
                            " GPUs in one cluster are not supported by "
                            "this version",
                        "choose nodes whose NVLink joins as many GPUs"});
    }
    if (is_amd(node) != is_amd(first)) {
      faults.push_back({field_of(g), "GPUs of NVIDIA and of AMD cannot share a collective",
                        "choose nodes of one maker: NCCL and RCCL do not speak to one another"});
    }
    add_own(job, g, faults);
  }
  if (job.strategy.offload.any()) {
    faults.push_back({"strategy.offload",
                      "offload in a cluster of several kinds of node is not supported by this version",
                      "leave offload out, or name one kind of node"});
  }
  return faults;
}

}  // namespace spec
