// real/executor/flat_order.h -- which parameters a data-parallel collective carries. The Plan gives it a number of
// elements; they are the next ones of the chunk's parameters, gradients in the order in which a backward completes them
// (head, layers from the last, embedding), weights in model order. A collective carries every parameter whose last
// element it reaches: frameworks do not cut a parameter over two buckets.
//
// Of a parameter of n elements that r ranks share, rank i owns the i-th of r pieces of ceil(n / r), the last ones
// padded. Packed for a collective, all first pieces come first, then all second ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "real/executor/task.h"

namespace real {

/// The parameters of `axis` that the operator carries next.
std::vector<Parameter*> next_gradients(Task&, plan::Axis axis);
/// The same of gradients that go to the host although no collective has carried them: the next ones of all whose axis
/// has neither other ranks nor replicas of its group, be they of experts or not.
std::vector<Parameter*> next_uncarried_gradients(Task&, std::int64_t elements);
std::vector<Parameter*> next_weights(Task&, plan::Axis axis);
/// The parameters of a unit that zero 3 gathers: so many from the first one of the operator's layer on, or the ends of
/// the model.
std::vector<Parameter*> unit_weights(Task&, plan::Axis axis);

/// Elements of one rank's packed pieces.
std::int64_t packed_share(const std::vector<Parameter*>&, int ranks);
/// Piece i of every parameter at its place in `packed`, out of whole parameters, or of pieces back into them.
/// `tensor(parameter)` is a whole parameter's tensor.
template <class Of>
void pack(Backend& backend, const std::vector<Parameter*>& parameters, int ranks, const Tensor& packed, Of tensor) {
  backend.fill(packed, 0);
  std::int64_t at = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    for (Parameter* p : parameters) {
      const std::int64_t share = p->share(ranks), begin = std::min(p->count(), rank * share);
      const std::int64_t length = std::min(share, p->count() - begin);
      if (length > 0) backend.copy(tensor(*p).part(begin, length), packed.part(at, length));
      at += share;
    }
  }
}
template <class Of>
void unpack(Backend& backend, const std::vector<Parameter*>& parameters, int ranks, const Tensor& packed, Of tensor) {
  std::int64_t at = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    for (Parameter* p : parameters) {
      const std::int64_t share = p->share(ranks), begin = std::min(p->count(), rank * share);
      const std::int64_t length = std::min(share, p->count() - begin);
      if (length > 0) backend.copy(packed.part(at, length), tensor(*p).part(begin, length));
      at += share;
    }
  }
}

}  // namespace real
