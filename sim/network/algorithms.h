// sim/network/algorithms.h -- one function an algorithm: who sends how much over which links, in how many steps.
//
//   ring          sent = bytes_sent_per_rank; 2 (N-1) steps for all_reduce, N-1 otherwise; bound by the slower of NIC
//                 and NVLink
//   tree          all_reduce by double binary trees: a domain's NICs carry 2 (n-1)/n of the buffer for n domains, in
//                 2 log2(n) steps; inside a domain a chain, up once and down once
//   nvls          all_reduce in the NVLink switches: a link carries (m+1)/m of the buffer for m members
//   nvls_tree     nvls inside, the tree between domains
//   collnet       all_reduce in the fabric's switches (SHARP): a domain's NICs carry the buffer up and the sum down at
//                 the same time; nvls inside where there is one, else each member reduces and gathers its part (direct)
//   pat           all_gather and reduce_scatter by parallel aggregated trees: the ring's bytes in log2(n) steps, one
//                 rank a domain only (NCCL 2.23 and later)
//   direct        all_to_all: fabric and NVLink carry their parts at the same time. Over NVLink, members hand what is
//                 meant for a rank elsewhere to the one on its rail (PXN), so a rank meets one peer a domain; without
//                 NVLink it meets each. shift: each member sends to the next, the slower of NVLink and of the one hop
//                 that leaves an island
//   hierarchical  phases one after another, not in NCCL: inside the domain, between domains on each rail, inside again
//
// Source: NCCL, src/graph/tuning.cc (steps, which collective has which) and the release notes of 2.12 (PXN), 2.23
// (PAT). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/plan/work.h"
#include "core/spec/network_algorithm.h"
#include "sim/network/closed_form.h"
#include "sim/network/ground.h"

namespace sim {

/// The curve of a collective's ring over that path, or of its direct sends where it has no ring.
const spec::PathCurve& curve_of(const spec::NetworkCalibration&, plan::CollectiveKind);

/// The price by this algorithm; empty when the collective or the group's path does not have it. REQUIRES: not
/// automatic, at least two ranks.
std::optional<NetworkPrice> price_by(spec::Algorithm, const plan::Collective&, const Ground&);

/// A transfer between two neighbours, alone on its wires.
NetworkPrice price_send(const plan::Transfer&, const Paths&);

}  // namespace sim
