// sim/network/closed_form.h -- collectives and transfers by alpha-beta per algorithm and path (fidelity closed_form).
//
// One algorithm with one protocol over rate R (a link's data-sheet rate, see sim/network/path.h) with curve c takes
//   latency + hop * steps + (sent + sqrt(sent * ramp) + local * own) / (R * efficiency)
// Simple protocol; the low-latency protocol has its own latency, hop and efficiency and no ramp. `sent` is what a rank
// puts on the wire, `own` what stays on it. The square root is the slow filling of NCCL's channels. The price is the
// fastest of
//   ring   sent = bytes_sent_per_rank; 2 (N-1) steps for all_reduce, N-1 otherwise; bound by the slower of NIC, NVLink
//   tree   all_reduce across a fabric: a node's NICs carry 2 (n-1)/n of the buffer for n domains; 2 log2(n) steps
//   nvls   all_reduce in the switches: a link carries (m+1)/m of the buffer for m members; a tree across domains
//   direct all_to_all: fabric and NVLink carry their parts at the same time; shift: each member sends to the next, the
//          slower of NVLink and of the one hop that leaves an island
// Across a fabric the efficiency falls with (domains / 2)^-decay, and uplinks of an oversubscribed leaf are shared.
// Rates come from Paths: worked out from the group's shape, or run as flows (sim/network/flow.h).
// Leaves out: other axes on the same wires, SHARP in InfiniBand switches; with Paths' own rates, placement other than
// consecutive nodes.
// Source: NCCL's tuning model (src/graph/tuning.cc) for algorithms and steps; constants are fitted (docs/network.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/units.h"
#include "core/plan/work.h"
#include "core/spec/cluster.h"
#include "sim/network/path.h"

namespace sim {

struct NetworkPrice {
  base::Seconds time;
  std::string algorithm;  // "ring", "tree", "nvls", "nvls tree", "direct"; "none" when nothing moves
  double residual = 0;
};

/// Time of one collective among `group`, all groups of its axis running at once (GroupShape::sharing), nothing else on
/// the wires. Never grows with link bandwidth, never shrinks with bytes. REQUIRES: a group that leaves its node has
/// NICs.
NetworkPrice price(const plan::Collective&, const spec::Cluster&);
NetworkPrice price(const plan::Transfer&, const spec::Cluster&);
/// The same with rates between and inside islands from elsewhere.
NetworkPrice price(const plan::Collective&, const Paths&);
NetworkPrice price(const plan::Transfer&, const Paths&);

/// Bytes that one rank sends in a ring: all_reduce 2 (N-1)/N, all_gather and reduce_scatter (N-1)/N of the buffer.
double bytes_sent_per_rank(const plan::Collective&);
/// nccl-tests' bus bandwidth factor: busbw = bytes / time * factor.
double bus_factor(plan::CollectiveKind, int ranks);

}  // namespace sim
