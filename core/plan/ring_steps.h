// core/plan/ring_steps.h -- which queries meet which keys when a sequence is cut over context-parallel ranks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace plan {

struct Stretch {
  std::int64_t begin = 0, length = 0;  // tokens of the sequence
};

/// `window`: keys that a query sees, its own among them; 0: all. Without causality half of them lie on either side.
struct Mask {
  bool causal = true;
  std::int64_t window = 0;
};

/// Query-key pairs between two stretches that the mask leaves; a causal square counts half, as in hardware_flops().
double attended_pairs(Stretch queries, Stretch keys, Mask);

/// Keys that a query in a document of so many tokens sees on average, rounded up.
std::int64_t mean_keys(std::int64_t document, Mask);

/// What rank `rank` of `cp` holds: one stretch, or with zigzag the rank-th of 2 cp chunks from the front and from the
/// back. REQUIRES: cp, or 2 cp, divides the sequence.
std::vector<Stretch> stretches_of(int rank, int cp, std::int64_t sequence, bool zigzag);

/// Attention of the queries of one rank on the keys and values that have arrived at a step of the ring.
struct RingStep {
  std::int64_t queries = 0, keys = 0;  // tokens that take part; 0: the mask leaves nothing
  double pairs = 0;
};

/// Steps of the rank whose work is the longest, from its own keys on; where the mask leaves nothing of what comes round
/// any more (a window, contiguous stretches) the ring ends. The ranks meet at every hop and at the end of the step, so
/// the longest one's program is the step's: under causality the last rank's, whose queries see at least as much as any
/// other's at each step, and under zigzag the rank that holds the two middle chunks (pairs of a chunk grow with its
/// place, ever more slowly, so the nearest two add up to most; without a window all ranks have the same).
std::vector<RingStep> ring_steps(int cp, std::int64_t sequence, bool zigzag, Mask);

/// Tokens of a document of `document` tokens on one rank, where all documents are cut over all ranks; 0: the sequence
/// is one. Transformer Engine asks for documents padded to a multiple of the chunks.
std::int64_t document_share(int cp, std::int64_t document, bool zigzag);
/// The ring's steps for one such document, as many times as there are documents in the sequence.
std::vector<RingStep> ring_steps_in_documents(int cp, std::int64_t sequence, bool zigzag, Mask, std::int64_t document);

}  // namespace plan
