// real/executor/shares.h -- which tokens of each sequence a context-parallel rank holds. A ring cuts every document
// over all its ranks (Transformer Engine's layout of packed documents), so there each sequence is cut in its own way;
// all else cuts all sequences alike. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/ring_steps.h"
#include "real/executor/task.h"

namespace real {

/// Of one sequence, in the order in which they lie in memory.
using Stretches = std::vector<plan::Stretch>;
/// Of each sequence of a microbatch.
using Share = std::vector<Stretches>;

std::int64_t tokens_of(const Stretches&);

/// What rank `rank` of `cp` holds of documents that are cut one by one, as plan::stretches_of() cuts a sequence. Of a
/// document that its chunks do not divide some have a token more: the next ones in turn, from document to document, so
/// that in the end every chunk has as many tokens and nothing is padded. REQUIRES: cp, or with zigzag 2 cp, divides
/// the sum of the lengths.
Stretches deal_documents(const Stretches& documents, int rank, int cp, bool zigzag);

/// REQUIRES: no documents on a ring.
Stretches stretches_of(const Task&, int cp_rank);
Share share_of(const Task&, int cp_rank);
/// The same of each sequence.
Share of_each(const Task&, const Stretches&);
Share whole_sequences(const Task&);

}  // namespace real
