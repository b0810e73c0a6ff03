// real/executor/blocks.h -- attention of queries that lie in some stretches of a sequence on keys that lie in others:
// what context-parallel ranks compute piece by piece. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/heads.h"
#include "real/executor/shares.h"

namespace real {

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

/// Within spans alone (spans_of). q [batch, tokens of `queries`, ...], k and v [batch, tokens of `keys`, ...]; `mask`
/// is causality and window. A query that sees none of these keys has out = 0 and lse = -infinity.
Attended attend(Task&, const Heads&, const Share& queries, const Share& keys, plan::Mask mask);
/// Gradients of q, k and v that come through these keys; out and lse are of all keys.
Heads attend_backward(Task&, const Heads&, const Share& queries, const Share& keys, plan::Mask mask,
                      const Attended& all, const Tensor& dout);

/// The model's mask in the operator's layer.
plan::Mask mask_of(const Task&);

}  // namespace real
