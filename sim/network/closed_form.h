// sim/network/closed_form.h -- collectives and transfers by alpha-beta per algorithm and path (fidelity closed_form).
//
// One algorithm with one protocol over rate R (a link's data-sheet rate, see sim/network/path.h) with curve c takes
//   latency + hop * steps + (sent + sqrt(sent * ramp) + local * own) / (R * efficiency)
// Simple protocol; LL and LL128 have their own latency, hop and efficiency and no ramp. `sent` is what a rank puts on
// the wire, `own` what stays on it (sim/network/algorithms.h says how much, and in how many steps). The square root is
// the slow filling of NCCL's channels. Steps that a ring has inside islands beyond those of 8 ranks take long_hop each,
// where the curve has one. The price is of the fastest protocol of the fastest algorithm that the collective and its
// path offer. Across a fabric the efficiency falls with (domains / 2)^-decay, and uplinks of an oversubscribed leaf are
// shared. Rates come from Paths: counted and worked out from the group's shape, or run as flows (sim/network/flow.h).
// Leaves out: other axes on the same wires; with Paths' own rates, where there are no narrow uplinks to count,
// placement other than consecutive nodes.
// Source: NCCL's tuning model (src/graph/tuning.cc) for algorithms and steps; constants are fitted (docs/network.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/units.h"
#include "core/plan/work.h"
#include "core/spec/cluster.h"
#include "core/spec/network_algorithm.h"
#include "sim/network/path.h"
#include "sim/network/protocol.h"

namespace sim {

/// What of a price goes over the fabric: flows of `pattern` in which the island of a group that sends most sends
/// `wire` (shift and send: one member). What the protocol loses is counted as bytes, so that at the rate that was
/// priced with, they take their part of the time.
struct Crossing {
  Pattern pattern = Pattern::ring;
  plan::GroupShape group;
  base::Bytes wire;      // 0: nothing leaves an island
  base::Seconds start;   // latency and steps, besides the bytes
  base::Seconds inside;  // of the bytes that move inside islands at the same time
};

struct NetworkPrice {
  base::Seconds time;
  spec::Algorithm algorithm = spec::Algorithm::automatic;  // the one that was chosen; automatic when nothing moves
  Protocol protocol = Protocol::none;
  const spec::PathCurve* curve = nullptr;  // that rules: the fabric's where the group leaves its domain; of the cluster
  double residual = 0;                     // of that curve
  Crossing crossing = {};
};

/// Time of one collective among `group`, all groups of its axis running at once (GroupShape::sharing), nothing else on
/// the wires. Never grows with link bandwidth, never shrinks with bytes. An algorithm that this collective or this path
/// does not have falls back to the ring (direct for all_to_all and shift), as NCCL's own filter did before it refused
/// (NCCL_ALGO, 2.24). REQUIRES: a group that leaves its node has NICs.
NetworkPrice price(const plan::Collective&, const spec::Cluster&, spec::Algorithm = spec::Algorithm::automatic);
NetworkPrice price(const plan::Transfer&, const spec::Cluster&);
/// The same with rates between and inside islands from elsewhere.
NetworkPrice price(const plan::Collective&, const Paths&, spec::Algorithm = spec::Algorithm::automatic);
NetworkPrice price(const plan::Transfer&, const Paths&);

/// Whether this collective among this group has the algorithm. REQUIRES: not automatic.
bool offered(spec::Algorithm, const plan::Collective&, const spec::Cluster&);

/// Bytes that one rank sends in a ring: all_reduce 2 (N-1)/N, all_gather and reduce_scatter (N-1)/N of the buffer.
double bytes_sent_per_rank(const plan::Collective&);
/// nccl-tests' bus bandwidth factor: busbw = bytes / time * factor.
double bus_factor(plan::CollectiveKind, int ranks);

}  // namespace sim
