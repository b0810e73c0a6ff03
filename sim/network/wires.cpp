// sim/network/wires.cpp -- see wires.h.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/wires.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "sim/network/mixed.h"
#include "sim/network/path.h"

namespace sim {
namespace {

using Kind = spec::Fabric::Kind;

bool by_rails(Kind kind) { return kind == Kind::rail_optimized || kind == Kind::nvl_rack; }

// Of a link of which `count` of `all` parallel ones take `factor` times as long.
double share_left(int count, int all, double factor) {
  const double slow = count > 0 ? std::min(1.0, static_cast<double>(count) / all) : 1.0;
  return 1 - slow + slow / factor;
}

}  // namespace

Wires::Wires(const spec::Cluster& cluster, const spec::Outages& outages)
    : cards_(cluster, outages), hosts_(cluster.hosts), seed_(outages.seed) {
  const spec::Node& node = cluster.node;
  const std::int64_t gpus = cluster.gpus();
  gpus_ = std::max(1, node.gpus);
  island_ = std::max(1, node.island());
  domain_ = node.nvlinked();
  mesh_ = node.nvlink.via == spec::Switch::mesh;
  if (mesh_) {
    const std::int64_t pairs = (gpus + domain_ - 1) / domain_ * domain_ * domain_;
    nvlink_up_ = add("nvlink pair", pairs, node.nvlink.bandwidth / std::max(1, domain_ - 1));
  } else if (domain_ > 1) {
    nvlink_up_ = add("nvlink up", gpus, node.nvlink.bandwidth);
    nvlink_down_ = add("nvlink down", gpus, node.nvlink.bandwidth);
  }
  peer_to_peer_ = node.pcie.p2p || node.host.bandwidth.si() <= 0;
  pcie_up_ = add("pcie up", gpus, node.pcie.bandwidth);
  pcie_down_ = add("pcie down", gpus, node.pcie.bandwidth);
  if (!peer_to_peer_) host_ = add("host memory", cluster.nodes, node.host.bandwidth / 2.0);  // written and read once

  ports_ = spec::ports(node);
  if (ports_ < 1) return;
  const base::ByteRate port = node.nic.bandwidth * std::max(1.0, static_cast<double>(node.nic.count) / gpus_);
  card_up_ = add("nic up", std::int64_t{ports_} * cluster.nodes, port);
  card_down_ = add("nic down", std::int64_t{ports_} * cluster.nodes, port);
  hands_over_ = by_rails(cluster.fabric.kind) && domain_ >= gpus_;
  if (cluster.fabric.kind == Kind::torus) {
    shape_ = cluster.fabric.shape;
    std::int64_t places = 2 * static_cast<std::int64_t>(shape_.size());
    for (int n : shape_) places *= n;
    torus_ = add("torus", places, cluster.fabric.link);
  } else if (cluster.fabric.kind != Kind::single_switch) {
    add_switches(cluster);
  }
  for (const spec::LinkFault& link : outages.links()) slow_down(cluster, link);
}

void Wires::slow_down(Link link, double factor) { slow_.try_emplace(link, 1.0).first->second /= factor; }

void Wires::slow_down(const spec::Cluster& cluster, const spec::LinkFault& fault) {
  if (fault.in_a_node()) return;  // the cards' own affair
  if (fault.from >= 0) {
    slow_down(between_groups_ + fault.from * groups_ + fault.to, fault.factor);
    return slow_down(between_groups_ + fault.to * groups_ + fault.from, fault.factor);
  }
  Stage& stage = stages_[static_cast<std::size_t>(fault.tier)];
  const int all = spec::uplinks(cluster, fault.tier);
  for (int rail = 0; rail < rails_; ++rail) {
    if (fault.rail >= 0 && fault.rail != rail) continue;
    const int at = fault.at * rails_ + rail;
    if (!hashes_) {
      for (const Link way : {stage.up, stage.down})
        slow_[way + at] = slow_.try_emplace(way + at, 1.0).first->second * share_left(fault.count, all, fault.factor);
      continue;
    }
    const int count = fault.count > 0 ? fault.count : all;
    if (fault.dead()) {
      stage.dead.resize(static_cast<std::size_t>(spec::switches(cluster, fault.tier) * rails_), 0);
      stage.dead[static_cast<std::size_t>(at)] += count;
      continue;
    }
    for (int u = 0; u < count; ++u) {
      slow_down(stage.up + at * all + u, fault.factor);
      slow_down(stage.down + at * all + u, fault.factor);
    }
  }
}

void Wires::add_switches(const spec::Cluster& cluster) {
  const spec::Fabric& fabric = cluster.fabric;
  if (fabric.leaf_nodes < 1) return;
  rails_ = spec::rails(cluster);
  hashes_ = fabric.routing == spec::Fabric::Routing::ecmp;
  const base::ByteRate of_a_node = family(card_up_).capacity * (static_cast<double>(ports_) / rails_);
  double reduced = 1;
  const auto stage = [&](std::string_view up, std::string_view down, int nodes, double oversubscription) {
    reduced *= oversubscription;
    const int tier = static_cast<int>(stages_.size()), links = hashes_ ? spec::uplinks(cluster, tier) : 1;
    const std::int64_t switches = std::int64_t{spec::switches(cluster, tier)} * rails_ * links;
    const base::ByteRate rate = of_a_node * (nodes / reduced / links);
    const Link first = add(up, switches, rate);
    stages_.push_back({nodes, first, add(down, switches, rate), links, {}});
  };
  stage("leaf up", "leaf down", fabric.leaf_nodes, fabric.oversubscription);
  for (const spec::Tier& tier : fabric.upper_tiers) stage("tier up", "tier down", tier.nodes, tier.oversubscription);
  if (fabric.kind != Kind::dragonfly || fabric.routing != spec::Fabric::Routing::minimal) return;
  const int nodes = stages_.back().nodes;
  direct_groups_ = true;
  groups_ = spec::dragonfly_groups(cluster);
  between_groups_ = add("group pair", std::int64_t{groups_} * groups_, of_a_node * (nodes / reduced) / (groups_ - 1.0));
}

Wires::Link Wires::add(std::string_view name, std::int64_t count, base::ByteRate capacity) {
  assert(count >= 0 && count <= std::numeric_limits<Link>::max() - next_);
  families_.push_back({name, next_, capacity});
  return std::exchange(next_, next_ + static_cast<Link>(count));
}

const Wires::Family& Wires::family(Link link) const {
  assert(link >= 0 && link < next_);
  const auto after = std::upper_bound(families_.begin(), families_.end(), link,
                                      [](Link value, const Family& family) { return value < family.first; });
  return *(after - 1);
}

Wires::Link Wires::links() const { return next_; }
base::ByteRate Wires::capacity(Link link) const {
  const Family& of = family(link);
  const auto slow = slow_.find(link);
  const bool card = ports_ > 0 && (of.first == card_up_ || of.first == card_down_);
  const int number = link - of.first;
  const double left = card ? cards_.left(number / ports_, number % ports_) : slow == slow_.end() ? 1 : slow->second;
  return of.capacity * left;
}
std::string Wires::name(Link link) const {
  return std::string(family(link).name) + " " + std::to_string(link - family(link).first);
}

int Wires::route(int source, int target, std::vector<Link>& out) const {
  if (source == target) return 0;
  return source / island_ == target / island_ ? inside(source, target, out) : between(source, target, out);
}

int Wires::inside(int source, int target, std::vector<Link>& out) const {
  if (source / domain_ == target / domain_) {
    if (mesh_) {
      out.push_back(nvlink_up_ + (source / domain_ * domain_ + source % domain_) * domain_ + target % domain_);
      return 0;
    }
    out.insert(out.end(), {nvlink_up_ + source, nvlink_down_ + target});
    return 1;
  }
  out.push_back(pcie_up_ + source);
  if (!peer_to_peer_) out.push_back(host_ + source / gpus_);
  out.push_back(pcie_down_ + target);
  return 1;
}

int Wires::between(int source, int target, std::vector<Link>& out) const {
  assert(ports_ > 0);
  const int from = source / gpus_, to = target / gpus_;
  const int rail_in = cards_.port_of(target);
  const int rail_out = hands_over_ ? cards_.standing_in(from, rail_in) : cards_.port_of(source);
  out.push_back(card_up_ + from * ports_ + rail_out);
  Way way{place_of(from), place_of(to), rails_ > 1 ? rail_out : 0, rails_ > 1 ? rail_in : 0, 0};
  if (hashes_)
    way.flow = mixed(mixed(mixed(seed_) ^ static_cast<std::uint64_t>(source)) ^ static_cast<std::uint64_t>(target));
  const int hops = shape_.empty() ? through_switches(way, out) : through_torus(source % gpus_, way.from, way.to, out);
  out.push_back(card_down_ + to * ports_ + rail_in);
  return hops;
}

int Wires::through_switches(const Way& way, std::vector<Link>& out) const {
  std::size_t top = 0;
  const bool same_rail = way.rail_out == way.rail_in;
  const auto outgrown = [&](const Stage& s) { return !same_rail || way.from / s.nodes != way.to / s.nodes; };
  while (top < stages_.size() && outgrown(stages_[top])) ++top;
  const auto here = [&](const Stage& s) { return way.from / s.nodes * rails_ + way.rail_out; };
  const auto there = [&](const Stage& s) { return way.to / s.nodes * rails_ + way.rail_in; };
  // Of a tier, the uplink that is taken on both sides; one that is dead on either is no way.
  const auto uplink = [&](std::size_t t) {
    const Stage& stage = stages_[t];
    if (stage.uplinks == 1) return 0;
    const auto dead = [&](int at) { return stage.dead.empty() ? 0 : stage.dead[static_cast<std::size_t>(at)]; };
    const int first = std::max(dead(here(stage)), dead(there(stage)));
    const auto alive = static_cast<std::uint64_t>(stage.uplinks - first);
    return first + (alive > 1 ? static_cast<int>(mixed(way.flow ^ t) % alive) : 0);
  };
  for (std::size_t t = 0; t < top; ++t) {
    out.push_back(stages_[t].up + here(stages_[t]) * stages_[t].uplinks + uplink(t));
  }
  if (direct_groups_ && top == stages_.size()) {
    out.push_back(between_groups_ + way.from / stages_.back().nodes * groups_ + way.to / stages_.back().nodes);
  }
  for (std::size_t t = top; t-- > 0;) {
    out.push_back(stages_[t].down + there(stages_[t]) * stages_[t].uplinks + uplink(t));
  }
  return 1 + 2 * static_cast<int>(top);
}

// One dimension after another, the shorter way round; where both ways are equal, GPUs of a node take turns.
int Wires::through_torus(int turn, int from, int to, std::vector<Link>& out) const {
  const int directions = 2 * static_cast<int>(shape_.size());
  int at = from, hops = 0, pitch = 1;
  for (std::size_t d = 0; d < shape_.size(); pitch *= shape_[d++]) {
    const int size = shape_[d], start = at / pitch % size, end = to / pitch % size;
    const int ahead = (end - start + size) % size;
    const bool up = 2 * ahead < size || (2 * ahead == size && (start + turn) % 2 == 0);
    for (int left = up ? ahead : size - ahead; left > 0; --left, ++hops) {
      out.push_back(torus_ + at * directions + 2 * static_cast<int>(d) + (up ? 0 : 1));
      const int here = at / pitch % size, next = (here + (up ? 1 : size - 1)) % size;
      at += (next - here) * pitch;
    }
  }
  return hops;
}

}  // namespace sim
