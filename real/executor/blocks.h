// real/executor/blocks.h -- attention of queries that lie in some stretches of a sequence on keys that lie in others:
// what context-parallel ranks compute piece by piece. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/ring_steps.h"
#include "real/executor/heads.h"

namespace real {

using Stretches = std::vector<plan::Stretch>;

std::int64_t tokens_of(const Stretches&);
/// Of a context-parallel rank, in the order in which its tokens lie in memory.
Stretches stretches_of(const Task&, int cp_rank);

/// Rows of `width` numbers of `batch` matrices, from place `from_at` on of each, which has `from_rows`; likewise `to`.
struct RowCopy {
  std::int64_t batch, length, width, from_rows, from_at, to_rows, to_at;
};
void copy_rows(Backend&, const RowCopy&, const Tensor& from, const Tensor& to);

/// Between one piece from each context-parallel rank, its tokens as they lie there, and [batch, sequence, width].
void reorder(Task&, bool to_sequence, const Tensor& by_rank, const Tensor& in_order);

/// out [batch, tokens, heads, dim] and lse [batch, heads, tokens] of queries on one set of keys.
struct Attended {
  Tensor out, lse;
};

/// Within documents alone, where sequences are packed. q [batch, tokens of `queries`, ...], k and v [batch, tokens of
/// `keys`, ...]; `mask` leaves out causality and window.
Attended attend(Task&, const Heads&, const Stretches& queries, const Stretches& keys, plan::Mask mask);
/// Gradients of q, k and v that come through these keys; out and lse are of all keys.
Heads attend_backward(Task&, const Heads&, const Stretches& queries, const Stretches& keys, plan::Mask mask,
                      const Attended& all, const Tensor& dout);

/// The model's mask in the operator's layer.
plan::Mask mask_of(const Task&);

}  // namespace real
