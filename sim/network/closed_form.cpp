// sim/network/closed_form.cpp -- see closed_form.h: one function an algorithm, the fastest wins.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/closed_form.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "sim/network/path.h"
#include "sim/network/protocol.h"

namespace sim {
namespace {

using plan::CollectiveKind;
using spec::PathCurve;

const PathCurve& ring_curve(const spec::NetworkCalibration& of, CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return of.all_reduce;
    case CollectiveKind::reduce_scatter: return of.reduce_scatter;
    case CollectiveKind::all_to_all: return of.all_to_all;
    case CollectiveKind::shift: return of.send;
    case CollectiveKind::all_gather:
    case CollectiveKind::broadcast: break;  // a broadcast streams like a gathering ring
  }
  return of.all_gather;
}

double decay(const PathCurve& c, int members) { return members > 2 ? std::pow(members / 2.0, -c.decay) : 1.0; }

int levels(int members) {
  int n = 0;
  while ((1 << n) < members) ++n;
  return n;
}

// The group as the algorithms see it: what a rank finds inside its domain and what the group finds between domains.
struct Ground {
  int size, members, domains;  // ranks; of them in one domain; domains
  base::Bytes bytes, own;      // of the buffer; of it on the rank itself at the start and in the end
  bool nvlink = false;
  base::ByteRate inside;
  const spec::Cluster& cluster;
  const plan::GroupShape& group;
  const Paths& paths;

  base::ByteRate between(Pattern pattern) const { return paths.between(group, members, pattern); }
};

Ground survey(const plan::Collective& c, const Paths& paths) {
  const plan::GroupShape& g = c.group;
  const spec::Cluster& cluster = paths.cluster();
  const bool leaves_node = g.domains > 1 && g.sharing > 0;
  const bool pieces = g.domains > 1 && g.sharing == 0;  // NVLink islands of one node, PCIe between them
  Ground at{.size = g.size,
            .members = leaves_node ? std::max(1, g.per_domain) : g.size,
            .domains = leaves_node ? g.domains : 1,
            .bytes = base::Bytes(static_cast<double>(c.bytes)),
            .own = base::Bytes(c.kind == CollectiveKind::broadcast ? 0.0 : static_cast<double>(c.bytes) / g.size),
            .inside = {},
            .cluster = cluster,
            .group = g,
            .paths = paths};
  at.nvlink = !pieces && joined_by_nvlink(cluster.node, at.members);
  if (at.members > 1) at.inside = paths.inside(g, at.members, at.nvlink);
  return at;
}

NetworkPrice ring(CollectiveKind kind, const Ground& at) {
  const PathCurve& near = ring_curve(at.cluster.node.links, kind);
  const PathCurve& far = ring_curve(at.cluster.fabric.calibration, kind);
  const double laps = kind == CollectiveKind::all_reduce ? 2 : 1;
  const base::Bytes sent = at.bytes * bus_factor(kind, at.size);
  const double far_steps = at.domains > 1 ? laps * (at.domains - 1) : 0;
  const Leg inside{&near, at.inside * decay(near, at.members), laps * (at.size - 1) - far_steps, sent, at.own};
  if (at.domains == 1) return {streamed(inside), "ring", near.residual};
  const Leg between{&far, at.between(Pattern::ring) * decay(far, at.domains), far_steps, sent, at.own};
  return {streamed(between, at.members > 1 ? inside : Leg{}), "ring", far.residual};
}

// What a node's NICs carry in a double binary tree: with two domains each half of the buffer crosses once each way.
Leg tree_leg(const PathCurve& tree, const Ground& at) {
  const double share = 2.0 * (at.domains - 1) / at.domains;
  return {&tree, at.between(Pattern::tree) * decay(tree, at.domains), 2.0 * levels(at.domains), at.bytes * share, {}};
}

NetworkPrice tree(const Ground& at) {
  const PathCurve& far = at.cluster.fabric.calibration.tree;
  const PathCurve& near = at.cluster.node.links.all_reduce;
  if (at.members == 1) return {streamed(tree_leg(far, at)), "tree", far.residual};
  // Inside a domain a tree is a chain: up once and down once.
  const Leg chain{&near, at.inside * decay(near, at.members), 2.0 * (at.members - 1), at.bytes * 2.0, {}};
  return {streamed(tree_leg(far, at), chain), "tree", far.residual};
}

NetworkPrice nvls(const Ground& at) {
  const PathCurve& near = at.cluster.node.links.nvls;
  const double share = (at.members + 1.0) / at.members;
  const Leg inside{&near, at.inside * decay(near, at.members), 1, at.bytes * share, {}};
  if (at.domains == 1) return {streamed(inside), "nvls", near.residual};
  const PathCurve& far = at.cluster.fabric.calibration.tree;
  return {streamed(tree_leg(far, at), inside), "nvls tree", far.residual};
}

/// `crossing`: see plan::Collective; then all of `bytes` arrive at a rank over NVLink, handed on by the one that took
/// them from the fabric.
NetworkPrice direct(const Ground& at, std::int64_t crossing) {
  const PathCurve& near = at.cluster.node.links.all_to_all;
  const PathCurve& far = at.cluster.fabric.calibration.all_to_all;
  const base::Bytes each = at.bytes / at.size;
  Leg inside{&near, at.inside * decay(near, at.members), at.members - 1.0, each * (at.members - 1.0), at.own};
  if (at.domains == 1) return {streamed(inside), "direct", near.residual};
  const base::Bytes out = crossing < 0 ? each * (at.size - at.members) : base::Bytes(static_cast<double>(crossing));
  if (crossing >= 0) inside.sent = at.bytes * ((at.members - 1.0) / at.members);
  const base::ByteRate of_a_rank = at.between(Pattern::all_to_all) / at.members;
  const Leg between{&far, of_a_rank * decay(far, at.domains), at.domains - 1.0, out, at.own};
  return {streamed(between, at.members > 1 ? inside : Leg{}), "direct", far.residual};
}

// Every member sends to the next: NVLink (or PCIe) and fabric carry their hops at once. One member of each island sends
// to another island, by the cards near it.
NetworkPrice shift(const Ground& at) {
  const PathCurve& near = at.cluster.node.links.send;
  const base::Bytes sent = at.bytes;
  NetworkPrice inside{{}, "direct", near.residual};
  if (at.members > 1) {
    const base::ByteRate rate = at.nvlink ? at.paths.inside(at.group, 2, true) : at.inside;
    inside.time = streamed({&near, rate, 1, sent, {}});
  }
  if (at.domains == 1) return inside;
  const PathCurve& far = at.cluster.fabric.calibration.send;
  const NetworkPrice between{streamed({&far, at.between(Pattern::shift), 1, sent, {}}), "direct", far.residual};
  return between.time < inside.time ? inside : between;
}

}  // namespace

double bus_factor(CollectiveKind kind, int ranks) {
  if (ranks <= 1) return 0;
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (kind) {
    case CollectiveKind::all_reduce: return 2 * others;
    case CollectiveKind::broadcast:
    case CollectiveKind::shift: return 1;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all: break;
  }
  return others;
}

double bytes_sent_per_rank(const plan::Collective& c) { return bus_factor(c.kind, c.group.size) * c.bytes; }

NetworkPrice price(const plan::Collective& c, const spec::Cluster& cluster) { return price(c, Paths(cluster)); }
NetworkPrice price(const plan::Transfer& t, const spec::Cluster& cluster) { return price(t, Paths(cluster)); }

NetworkPrice price(const plan::Collective& c, const Paths& paths) {
  const spec::Cluster& cluster = paths.cluster();
  if (c.group.size <= 1 || c.bytes <= 0) return {{}, "none", 0};
  const Ground at = survey(c, paths);
  if (c.kind == CollectiveKind::all_to_all) return direct(at, c.crossing);
  if (c.kind == CollectiveKind::shift) return shift(at);
  NetworkPrice best = ring(c.kind, at);
  if (c.kind != CollectiveKind::all_reduce) return best;

  const auto consider = [&best](NetworkPrice other) {
    if (other.time < best.time) best = std::move(other);
  };
  const bool trees = at.domains > 1 && cluster.fabric.calibration.tree.efficiency > 0;
  const bool in_switch =
      at.members > 1 && at.nvlink && cluster.node.nvlink.multicast && cluster.node.links.nvls.efficiency > 0;
  if (trees) consider(tree(at));
  if (in_switch && (trees || at.domains == 1)) consider(nvls(at));
  return best;
}

NetworkPrice price(const plan::Transfer& t, const Paths& paths) {
  if (t.bytes <= 0) return {{}, "none", 0};
  const spec::Cluster& cluster = paths.cluster();
  const base::Bytes sent{static_cast<double>(t.bytes)};
  if (t.crosses_domain && t.sharing > 0) {
    const PathCurve& far = cluster.fabric.calibration.send;
    const base::ByteRate rate = paths.between({2, 1, 2, t.sharing, t.layout}, 1, Pattern::send);
    return {streamed({&far, rate, 1, sent, {}}), "direct", far.residual};
  }
  const PathCurve& near = cluster.node.links.send;
  const bool nvlink = !t.crosses_domain && joined_by_nvlink(cluster.node, 2);
  const base::ByteRate rate = paths.inside({2, 2, 1, 1, t.layout}, 2, nvlink);
  return {streamed({&near, rate, 1, sent, {}}), "direct", near.residual};
}

}  // namespace sim
