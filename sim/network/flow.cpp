// sim/network/flow.cpp -- see flow.h.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/flow.h"

#include <cassert>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "sim/network/simgrid.h"

namespace sim {
namespace {

// Folding goes on for as many rounds as differences need to travel from link to link: too long where a ring of a
// hundred thousand GPUs does not repeat with the switches.
constexpr std::size_t kTooManyToFold = 8192;

}  // namespace

Piping::Piping(const Wires& wires, base::ByteRate unit)
    : wires_(wires), unit_(unit), number_(static_cast<std::size_t>(wires.links()), -1) {}

void Piping::add(const Flow& flow, double volume) {
  route_.clear();
  wires_.route(flow.source, flow.target, route_);
  for (Wires::Link& link : route_) {
    int& number = number_[static_cast<std::size_t>(link)];
    if (number < 0) {
      number = static_cast<int>(fluid.capacities.size());
      fluid.capacities.push_back(wires_.capacity(link) / unit_);
    }
    link = number;
  }
  fluid.add(volume, route_);
}

Fluid fluid_of(const Traffic& traffic, const Wires& wires, base::ByteRate unit) {
  Piping piping(wires, unit);
  for (const Flow& flow : traffic.flows) piping.add(flow, flow.volume / traffic.busiest);
  return std::move(piping.fluid);
}

base::ByteRate FlowPaths::rate(const Traffic& traffic) const {
  const spec::Node& node = cluster().node;
  const base::ByteRate unit = node.nic.count > 0 ? node.nic.bandwidth : node.pcie.bandwidth;
  const Fluid fluid = fluid_of(traffic, wires_, unit);
  // No two links are alike where hosts, hashes or faults make them differ: there is little to fold, and much to run.
  if (uneven_ || fluid.flows() >= kTooManyToFold) {
    if (const std::optional<double> end = last_end_by_bounds(fluid)) return unit / *end;
  }
  return unit / last_end(folded(fluid));
}

base::ByteRate FlowPaths::between(const plan::GroupShape& group, int members, Pattern pattern) const {
  if (group.layout.ranks < 1) return Paths::between(group, members, pattern);
  const auto [at, fresh] = between_.try_emplace({pattern, group});
  if (!fresh) return at->second;
  const Traffic traffic = traffic_between(pattern, group, cluster(), cards(), uneven_);
  return at->second = traffic.flows.empty() ? Paths::between(group, members, pattern) : rate(traffic);
}

// NVLink and peer-to-peer PCIe give each GPU links of its own; the host's memory is shared by all groups of a node.
base::ByteRate FlowPaths::inside(const plan::GroupShape& group, int members, bool over_nvlink) const {
  const bool shared = shares_host_memory(cluster().node, over_nvlink);
  if (!shared || group.layout.ranks < 1) return Paths::inside(group, members, over_nvlink);
  const auto [at, fresh] = inside_.try_emplace(group);
  if (!fresh) return at->second;
  const Traffic traffic = traffic_inside(group, cluster());
  return at->second = traffic.flows.empty() ? Paths::inside(group, members, over_nvlink) : rate(traffic);
}

}  // namespace sim
