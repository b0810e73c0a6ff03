// real/executor/documents.h -- which documents share a sequence under training.packing. Lengths are drawn by the seed
// and the number of the sequence, so every rank that holds a part of it knows them. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/ring_steps.h"
#include "core/spec/packing.h"
#include "real/executor/task.h"

namespace real {

/// Documents one behind the other that fill a sequence of `tokens`: lengths drawn evenly from the list, or from the
/// normal distribution, rounded; the last is cut. Sequences count within a step, so that every step
/// meets the same lengths: for each of them a library makes a plan when it is first met, which no timed step should.
std::vector<plan::Stretch> draw_documents(const spec::Packing&, std::int64_t tokens, std::uint64_t seed,
                                          std::int64_t sequence);

/// Of the `b`-th sequence of the operator's microbatch; the sequence itself without packing.
std::vector<plan::Stretch> documents_of(const Task&, std::int64_t b);

/// What attends to itself alone of the `b`-th sequence in the operator's layer: its documents or, where the layer has
/// chunks of attention, the parts into which those cut them. Chunks are counted from the begin of the sequence.
std::vector<plan::Stretch> spans_of(const Task&, std::int64_t b);
/// The parts into which chunks of `chunk` tokens cut each of these; 0: none.
std::vector<plan::Stretch> cut_by_chunks(const std::vector<plan::Stretch>&, std::int64_t chunk);

/// That which holds the token at `place`. REQUIRES: one of them does.
const plan::Stretch& document_at(const std::vector<plan::Stretch>&, std::int64_t place);

inline bool packs(const Task& task) { return task.rank.job.training.packing.has_value(); }

/// [batch, sequence]: where the document of each token begins, for masks.
Tensor begins_of_documents(Task&);

}  // namespace real
