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

Crossed::Crossed(const Wires& wires, base::ByteRate unit)
    : wires_(wires), unit_(unit), number_(static_cast<std::size_t>(wires.links()), -1) {}

void Piping::add(const Flow& flow, double volume) {
  fluid.add(volume, crossed_.links_of(flow, [&](double capacity) { fluid.capacities.push_back(capacity); }));
}

Fluid fluid_of(const Traffic& traffic, const Wires& wires, base::ByteRate unit) {
  Piping piping(wires, unit);
  for (const Flow& flow : traffic.flows) piping.add(flow, flow.volume / traffic.busiest);
  return std::move(piping.fluid);
}

std::optional<double> last_end_by_bounds(const Traffic& traffic, const Wires& wires, base::ByteRate unit) {
  Crossed crossed(wires, unit);
  EndByBounds bounds;
  for (const Flow& flow : traffic.flows) {
    const double volume = flow.volume / traffic.busiest;
    for (const int link : crossed.links_of(flow, [&](double capacity) { bounds.add_link(capacity); })) {
      bounds.cross(static_cast<std::size_t>(link), volume);
    }
  }
  return bounds.last_end();
}

base::ByteRate FlowPaths::rate(const Traffic& traffic) const {
  const spec::Node& node = cluster().node;
  const base::ByteRate unit = node.nic.count > 0 ? node.nic.bandwidth : node.pcie.bandwidth;
  // No two links are alike where hosts, hashes or faults make them differ: there is little to fold, and much to run.
  if (uneven_ || traffic.flows.size() >= kTooManyToFold) {
    if (const std::optional<double> end = last_end_by_bounds(traffic, wires_, unit)) return unit / *end;
  }
  return unit / last_end(folded(fluid_of(traffic, wires_, unit)));
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
