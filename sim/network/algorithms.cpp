// sim/network/algorithms.cpp -- see algorithms.h.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/algorithms.h"

#include <algorithm>
#include <cmath>

#include "sim/network/protocol.h"

namespace sim {
namespace {

using plan::CollectiveKind;
using spec::Algorithm;
using spec::PathCurve;

double decay(const PathCurve& c, int members) { return members > 2 ? std::pow(members / 2.0, -c.decay) : 1.0; }

int levels(int members) {
  int n = 0;
  while ((1 << n) < members) ++n;
  return n;
}

NetworkPrice priced(Streamed s, Algorithm by, const PathCurve& rules) {
  return {s.time, by, s.protocol, &rules, rules.residual};
}

NetworkPrice crossed(Streamed s, Algorithm by, const PathCurve& rules, const Ground& at, Pattern pattern) {
  NetworkPrice out = priced(s, by, rules);
  const base::Seconds bytes = std::max(s.first, s.second);
  out.crossing = {pattern, at.group, at.between(pattern) * s.first, s.time - bytes, s.second};
  return out;
}

base::ByteRate rate_between(const PathCurve& far, const Ground& at, Pattern pattern) {
  return at.between(pattern) * decay(far, at.domains);
}

/// Of a ring's steps inside islands, those beyond a short ring's.
double beyond_short(double steps, double laps) { return std::max(0.0, steps - laps * (spec::kShortRing - 1)); }

NetworkPrice ring(CollectiveKind kind, const Ground& at) {
  const PathCurve& near = curve_of(at.near(), kind);
  const PathCurve& far = curve_of(at.far(), kind);
  const double laps = kind == CollectiveKind::all_reduce ? 2 : 1;
  const base::Bytes sent = at.bytes * bus_factor(kind, at.size);
  const double far_steps = at.domains > 1 ? laps * (at.domains - 1) : 0, steps = laps * (at.size - 1) - far_steps;
  const Leg inside{&near, at.inside * decay(near, at.members), steps, sent, at.own, beyond_short(steps, laps)};
  if (at.domains == 1) return priced(streamed(inside), Algorithm::ring, near);
  const Leg between{&far, rate_between(far, at, Pattern::ring), far_steps, sent, at.own};
  return crossed(streamed(between, at.members > 1 ? inside : Leg{}), Algorithm::ring, far, at, Pattern::ring);
}

// What a node's NICs carry in a double binary tree: with two domains each half of the buffer crosses once each way.
Leg tree_leg(const Ground& at) {
  const PathCurve& tree = at.far().tree;
  const double share = 2.0 * (at.domains - 1) / at.domains;
  return {&tree, rate_between(tree, at, Pattern::tree), 2.0 * levels(at.domains), at.bytes * share, {}};
}

NetworkPrice tree(const Ground& at) {
  const PathCurve& near = at.near().all_reduce;
  // No long chain was measured apart from rings: all of its steps take `hop`.
  const Leg chain{&near, at.inside * decay(near, at.members), 2.0 * (at.members - 1), at.bytes * 2.0, {}};
  if (at.domains == 1) return priced(streamed(chain), Algorithm::tree, near);
  const Streamed both = streamed(tree_leg(at), at.members > 1 ? chain : Leg{});
  return crossed(both, Algorithm::tree, at.far().tree, at, Pattern::tree);
}

Leg nvls_leg(const Ground& at) {
  const PathCurve& near = at.near().nvls;
  return {&near, at.inside * decay(near, at.members), 1, at.bytes * ((at.members + 1.0) / at.members), {}};
}

NetworkPrice collnet(const Ground& at, bool multicast) {
  const PathCurve& far = at.far().collnet;
  const PathCurve& near = at.near().all_reduce;
  const Leg between{&far, rate_between(far, at, Pattern::tree), 1, at.bytes, {}};
  Leg inside;
  if (at.members > 1) {
    const double share = 2.0 * (at.members - 1) / at.members;
    inside = multicast ? nvls_leg(at) : Leg{&near, at.inside * decay(near, at.members), 2, at.bytes * share, at.own};
  }
  return crossed(streamed(between, inside), Algorithm::collnet, far, at, Pattern::tree);
}

NetworkPrice pat(CollectiveKind kind, const Ground& at) {
  const PathCurve& far = at.far().pat;
  const double steps = levels(at.domains);
  const Leg between{&far, rate_between(far, at, Pattern::ring), steps, at.bytes * bus_factor(kind, at.size), at.own};
  return crossed(streamed(between), Algorithm::pat, far, at, Pattern::ring);
}

/// Told how much of them crosses domains, all of the bytes arrive at a rank over NVLink, handed on by the one that took
/// them from the fabric.
NetworkPrice direct(const Ground& at, std::int64_t crossing) {
  const PathCurve& near = at.near().all_to_all;
  const PathCurve& far = at.far().all_to_all;
  const base::Bytes each = at.bytes / at.size;
  Leg inside{&near, at.inside * decay(near, at.members), at.members - 1.0, each * (at.members - 1.0), at.own};
  if (at.domains == 1) return priced(streamed(inside), Algorithm::direct, near);
  const base::Bytes out = crossing < 0 ? each * (at.size - at.members) : base::Bytes(static_cast<double>(crossing));
  if (crossing >= 0) inside.sent = at.bytes * ((at.members - 1.0) / at.members);
  // Without NVLink what goes to the cards leaves by the same PCIe link.
  if (!at.nvlink) inside.sent = std::max(inside.sent, each * (at.size - 1.0));
  const double peers = at.members == 1 || at.nvlink ? at.domains - 1.0 : at.size - at.members;
  const base::ByteRate of_a_rank = rate_between(far, at, Pattern::all_to_all) / at.members;
  const Leg between{&far, of_a_rank, peers, out, at.own};
  const Streamed both = streamed(between, at.members > 1 ? inside : Leg{});
  return crossed(both, Algorithm::direct, far, at, Pattern::all_to_all);
}

/// What the slower side asks for is all that waits.
NetworkPrice called(NetworkPrice price, const Ground& at) {
  const base::Seconds inside = at.near().experts_call;
  const base::Seconds call = at.domains == 1 ? inside : std::max(inside, at.far().experts_call);
  price.time += call;
  price.crossing.start += call;
  return price;
}

// Every member sends to the next: NVLink (or PCIe) and fabric carry their hops at once. One member of each island sends
// to another island, by the cards near it.
NetworkPrice shift(const Ground& at) {
  const PathCurve& near = at.near().send;
  NetworkPrice inside{{}, Algorithm::direct, Protocol::none, &near, near.residual};
  if (at.members > 1) {
    const base::ByteRate rate = at.nvlink ? at.paths.inside(at.group, 2, true) : at.inside;
    inside = priced(streamed({&near, rate, 1, at.bytes, {}}), Algorithm::direct, near);
  }
  if (at.domains == 1) return inside;
  const PathCurve& far = at.far().send;
  const Streamed alone = streamed({&far, at.between(Pattern::shift), 1, at.bytes, {}});
  NetworkPrice both = crossed(alone, Algorithm::direct, far, at, Pattern::shift);
  both.crossing.inside = std::max(base::Seconds(), inside.time - both.crossing.start);
  if (!(both.time < inside.time)) return both;
  inside.crossing = both.crossing;
  return inside;
}

NetworkPrice hierarchical(const plan::Collective& c, const Ground& at) {
  const plan::Layout& whole = at.group.layout;
  const int apart = whole.stride * at.members;  // a rail's ranks
  const bool told = whole.ranks > 0 && whole.starts == whole.stride;
  const plan::GroupShape node{at.members, at.members, 1, 1};
  const plan::GroupShape rail{at.domains, 1, at.domains, at.sharing * at.members,
                              told ? plan::Layout{apart, apart, whole.block, whole.ranks} : plan::Layout{}};
  NetworkPrice sum{{}, Algorithm::hierarchical, Protocol::simple, nullptr, 0};
  const auto phase = [&](CollectiveKind kind, std::int64_t bytes, const plan::GroupShape& group) {
    const NetworkPrice part = price(plan::Collective{kind, bytes, group}, at.paths);
    sum.time += part.time;
    sum.residual = std::max(sum.residual, part.residual);
    if (&group != &rail) return;
    sum.curve = part.curve;
    sum.protocol = part.protocol;
    sum.crossing = part.crossing;
    sum.crossing.start = sum.crossing.start - part.time;  // of all phases, once their sum is there
  };
  const std::int64_t part = std::max<std::int64_t>(1, c.bytes / at.members);
  switch (c.kind) {
    case CollectiveKind::all_reduce:
      phase(CollectiveKind::reduce_scatter, c.bytes, node);
      phase(CollectiveKind::all_reduce, part, rail);
      phase(CollectiveKind::all_gather, c.bytes, node);
      break;
    case CollectiveKind::all_gather:
      phase(CollectiveKind::all_gather, part, rail);
      phase(CollectiveKind::all_gather, c.bytes, node);
      break;
    case CollectiveKind::reduce_scatter:
      phase(CollectiveKind::reduce_scatter, c.bytes, node);
      phase(CollectiveKind::reduce_scatter, part, rail);
      break;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::all_to_all:
      phase(c.kind, c.bytes, rail);
      phase(c.kind, c.bytes, node);
      break;
    case CollectiveKind::shift: break;
  }
  sum.crossing.start += sum.time;
  return sum;
}

}  // namespace

const PathCurve& curve_of(const spec::NetworkCalibration& path, CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return path.all_reduce;
    case CollectiveKind::reduce_scatter: return path.reduce_scatter;
    case CollectiveKind::all_to_all: return path.all_to_all;
    case CollectiveKind::shift: return path.send;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:  // streams as a broadcast does, the other way
      if (path.broadcast.offered()) return path.broadcast;
      break;
    case CollectiveKind::all_gather: break;
  }
  return path.all_gather;
}

std::optional<NetworkPrice> price_by(Algorithm by, const plan::Collective& c, const Ground& at) {
  const bool reduces = c.kind == CollectiveKind::all_reduce;
  const bool exchange = c.kind == CollectiveKind::all_to_all;
  const bool pairs = c.kind == CollectiveKind::shift;
  const bool multicast = at.members > 1 && at.nvlink && at.cluster.node.nvlink.multicast && at.near().nvls.offered();
  const bool across = at.domains > 1;
  switch (by) {
    case Algorithm::ring:
      if (!exchange && !pairs) return ring(c.kind, at);
      break;
    case Algorithm::tree:
      if (reduces && (!across || at.far().tree.offered())) return tree(at);
      break;
    case Algorithm::nvls:
      if (reduces && multicast && !across) return priced(streamed(nvls_leg(at)), by, at.near().nvls);
      break;
    case Algorithm::nvls_tree:
      if (reduces && multicast && across && at.far().tree.offered()) {
        return crossed(streamed(tree_leg(at), nvls_leg(at)), by, at.far().tree, at, Pattern::tree);
      }
      break;
    case Algorithm::collnet:
      if (reduces && across && at.cluster.fabric.in_switch_reduction && at.far().collnet.offered()) {
        return collnet(at, multicast);
      }
      break;
    case Algorithm::pat:
      if ((c.kind == CollectiveKind::all_gather || c.kind == CollectiveKind::reduce_scatter) && across &&
          at.members == 1 && at.far().pat.offered()) {
        return pat(c.kind, at);
      }
      break;
    case Algorithm::direct:
      if (exchange) return c.by_library ? called(direct(at, c.crossing), at) : direct(at, c.crossing);
      if (pairs) return shift(at);
      break;
    case Algorithm::hierarchical:
      // Uneven tokens (`crossing`) are a dispatcher's own hierarchy already.
      if (across && at.members > 1 && !pairs && c.crossing < 0) return hierarchical(c, at);
      break;
    case Algorithm::automatic: break;
  }
  return std::nullopt;
}

NetworkPrice price_send(const plan::Transfer& t, const Paths& paths) {
  const spec::Cluster& cluster = paths.cluster();
  const base::Bytes sent{static_cast<double>(t.bytes)};
  if (t.crosses_domain && t.sharing > 0) {
    const PathCurve& far = cluster.fabric.calibration.send;
    const plan::GroupShape pair{2, 1, 2, t.sharing, t.layout};
    const base::ByteRate rate = paths.between(pair, 1, Pattern::send);
    const Streamed alone = streamed({&far, rate, 1, sent, {}});
    NetworkPrice out = priced(alone, Algorithm::direct, far);
    out.crossing = {Pattern::send, pair, rate * alone.first, alone.time - alone.first, {}};
    return out;
  }
  const PathCurve& near = cluster.node.links.send;
  const bool nvlink = !t.crosses_domain && joined_by_nvlink(cluster.node, 2);
  const base::ByteRate rate = paths.inside({2, 2, 1, 1, t.layout}, 2, nvlink);
  return priced(streamed({&near, rate, 1, sent, {}}), Algorithm::direct, near);
}

}  // namespace sim
