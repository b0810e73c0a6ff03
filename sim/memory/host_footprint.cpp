// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/host_footprint.h"

#include <algorithm>
#include <vector>

namespace sim {
namespace {

std::int64_t peak_on_host(const plan::Plan& plan, const plan::Role& role) {
  std::int64_t level = role.host_bytes, peak = level;
  for (const plan::Call& call : role.calls) {
    level += plan.segments[call.segment].host_bytes;
    peak = std::max(peak, level);
  }
  return peak;
}

}  // namespace

bool HostFootprint::fits(const spec::Node& node) const {
  const auto room = [](base::Bytes capacity) { return static_cast<std::int64_t>(std::min(capacity.si(), 9e18)); };
  return bytes <= room(node.host.memory) && (node.nvme.capacity.si() == 0 || nvme_bytes <= room(node.nvme.capacity));
}

HostFootprint host_footprint(const plan::Plan& plan, const spec::Job& job) {
  HostFootprint out;
  if (!job.strategy.offload.any()) return out;
  std::vector<HostFootprint> nodes(static_cast<std::size_t>(job.cluster.nodes));
  for (const plan::Role& role : plan.roles) {
    const std::int64_t peak = peak_on_host(plan, role);
    for (int place = 0; place < plan.axes.ranks; ++place) {
      const int node = plan.axes.rank_of(role.stage, place) / job.cluster.node.gpus;
      HostFootprint& one = nodes[static_cast<std::size_t>(node)];
      one.bytes += peak;
      one.nvme_bytes += role.nvme_bytes;
    }
  }
  for (const HostFootprint& one : nodes) {
    out.bytes = std::max(out.bytes, one.bytes);
    out.nvme_bytes = std::max(out.nvme_bytes, one.nvme_bytes);
  }
  return out;
}

}  // namespace sim
