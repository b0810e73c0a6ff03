// SPDX-License-Identifier: Apache-2.0
#include "sim/pricing/conditions.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>

#include "core/plan/channel_name.h"
#include "core/plan/kinds.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"

namespace sim {
namespace {

std::string number(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.3g", value);
  return out;
}

std::string plural(std::size_t count, const std::string& what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

std::string text_of_node(const spec::Outages& outages, const spec::Node& node, int at) {
  const std::vector<double> left = spec::ports_left(outages, node, at);
  const auto lost = static_cast<std::size_t>(std::count(left.begin(), left.end(), 0.0));
  std::map<double, std::size_t> slow;  // ports by how many times as long their bytes take
  for (const double share : left) {
    if (share > 0 && share < 1) ++slow[1 / share];
  }
  std::string out;
  if (lost > 0) out = std::to_string(lost) + " of " + plural(left.size(), "card") + " lost";
  for (const auto& [factor, count] : slow) {
    out += (out.empty() ? "" : ", ") + std::to_string(count) + " of " + plural(left.size(), "card") + " " +
           number(factor) + " x slow";
  }
  return "node " + std::to_string(at) + ": " + (out.empty() ? "all cards at their rate" : out);
}

std::string text_of_link(const spec::LinkFault& link) {
  const std::string state = link.dead() ? "dead" : number(link.factor) + " x slow";
  if (link.from >= 0) {
    return "groups " + std::to_string(link.from) + " and " + std::to_string(link.to) + ": link " + state;
  }
  std::string where = link.tier == 0 ? "leaf " : "tier " + std::to_string(link.tier) + " switch ";
  where += std::to_string(link.at) + (link.rail >= 0 ? " of rail " + std::to_string(link.rail) : "");
  return where + ": " + (link.count > 0 ? plural(static_cast<std::size_t>(link.count), "uplink") : "uplinks") + ' ' +
         state;
}

/// Nodes below the switch, or in either of the two groups.
std::vector<bool> touched(const spec::LinkFault& link, const spec::Cluster& cluster) {
  const spec::Fabric& fabric = cluster.fabric;
  const int below = link.tier == 0 || fabric.upper_tiers.empty() ? fabric.leaf_nodes
                    : link.tier > 0 ? fabric.upper_tiers[static_cast<std::size_t>(link.tier - 1)].nodes
                                    : fabric.upper_tiers.back().nodes;
  std::vector<bool> out(static_cast<std::size_t>(cluster.nodes), false);
  for (int node = 0; node < cluster.nodes; ++node) {
    const int at = cluster.place_of(node) / std::max(1, below);
    out[static_cast<std::size_t>(node)] = link.from >= 0 ? at == link.from || at == link.to : at == link.at;
  }
  return out;
}

/// Time of each axis in one step of the role, operators one after another.
std::map<std::string, double> times_by_axis(const plan::Plan& plan, const plan::Role& role, const Prices& prices) {
  std::map<std::string, double> out;
  for (const plan::Call& call : role.calls) {
    for (const plan::Operator& op : plan.segments[static_cast<std::size_t>(call.segment)].operators) {
      if (op.channel < 0) continue;
      const plan::Channel& channel = plan.channels[static_cast<std::size_t>(op.channel)];
      out[std::string(plan::channel_name(channel))] += prices[static_cast<std::size_t>(op.work)].si();
    }
  }
  return out;
}

/// "dp 2 x, pp 1.5 x as long (stages 0, 1)": how much longer each axis takes at most, on the roles that are `affected`.
template <class Affected>
std::string compared(const plan::Plan& plan, const Prices& before, const Prices& after, Affected affected) {
  std::map<std::string, double> longest;
  std::set<int> stages;
  for (const plan::Role& role : plan.roles) {
    if (!affected(role)) continue;
    stages.insert(role.stage);
    const std::map<std::string, double> usual = times_by_axis(plan, role, before);
    for (const auto& [axis, time] : times_by_axis(plan, role, after)) {
      if (usual.at(axis) > 0) longest[axis] = std::max(longest[axis], time / usual.at(axis));
    }
  }
  std::string out;
  for (const auto& [axis, times] : longest) {
    if (std::abs(times - 1) >= 0.0005) out += (out.empty() ? "" : ", ") + axis + ' ' + number(times) + " x";
  }
  if (out.empty()) return "nothing takes longer";
  out += " as long";
  if (stages.size() == plan.roles.size()) return out;
  out += stages.size() == 1 ? " (stage" : " (stages";
  for (const int stage : stages) out += (stage == *stages.begin() ? " " : ", ") + std::to_string(stage);
  return out + ')';
}

}  // namespace

std::vector<Condition> conditions_of(const spec::Job& job) {
  const spec::Simulation& all = job.simulation;
  std::vector<Condition> out;
  std::set<int> nodes;
  for (const spec::LinkFault& link : all.links()) {
    if (link.in_a_node()) nodes.insert(link.node);
  }
  for (const spec::LostNics& lost : all.lost_nics) nodes.insert(lost.node);
  for (const int node : nodes) {
    Condition& of = out.emplace_back();
    of.outages.seed = all.seed;
    const auto here = [node](const auto& fault) { return fault.node == node; };
    std::copy_if(all.slow_links.begin(), all.slow_links.end(), std::back_inserter(of.outages.slow_links), here);
    std::copy_if(all.dead_links.begin(), all.dead_links.end(), std::back_inserter(of.outages.dead_links), here);
    std::copy_if(all.lost_nics.begin(), all.lost_nics.end(), std::back_inserter(of.outages.lost_nics), here);
    of.touches.assign(static_cast<std::size_t>(job.cluster.nodes), false);
    of.touches[static_cast<std::size_t>(node)] = true;
    of.text = text_of_node(of.outages, job.cluster.node, node);
  }
  for (const spec::LinkFault& link : all.links()) {
    if (link.in_a_node()) continue;
    Condition& of = out.emplace_back();
    of.outages.seed = all.seed;
    (link.dead() ? of.outages.dead_links : of.outages.slow_links).push_back(link);
    of.touches = touched(link, job.cluster);
    of.text = text_of_link(link);
  }
  return out;
}

bool touches(const Condition& condition, const plan::Plan& plan, const plan::Role& role, const spec::Cluster& cluster) {
  for (int place = 0; place < role.ranks; ++place) {
    if (condition.touches[static_cast<std::size_t>(plan::rank_of(plan, role, place) / cluster.node.gpus)]) return true;
  }
  return false;
}

std::vector<std::string> condition_warnings(const plan::Plan& plan, const spec::Job& job) {
  const spec::Cluster& cluster = job.cluster;
  const std::vector<Condition> conditions = conditions_of(job);
  const bool hashed = cluster.fabric.routing == spec::Fabric::Routing::ecmp, moved = !cluster.hosts.empty();
  std::vector<std::string> out;
  if (conditions.empty() && !hashed && !moved) return out;
  const spec::Outages none{.seed = job.simulation.seed};
  const Prices usual = prices_of(plan, cluster, job.network, none);
  if (moved) {
    spec::Cluster in_order = cluster;
    in_order.hosts.clear();
    const Prices before = prices_of(plan, in_order, job.network, none);
    out.push_back("hosts: against nodes side by side " +
                  compared(plan, before, usual, [](const plan::Role&) { return true; }));
  }
  if (hashed) {
    spec::Cluster sprayed = cluster;
    sprayed.fabric.routing = spec::Fabric::Routing::spray;
    const Prices before = prices_of(plan, sprayed, job.network, none);
    out.push_back("ecmp, seed " + std::to_string(none.seed) + ": against packets sprayed over all uplinks " +
                  compared(plan, before, usual, [](const plan::Role&) { return true; }));
  }
  for (const Condition& condition : conditions) {
    out.push_back(condition.text + ": " +
                  compared(plan, usual, prices_of(plan, cluster, job.network, condition.outages),
                           [&](const plan::Role& role) { return touches(condition, plan, role, cluster); }));
  }
  return out;
}

}  // namespace sim
