// kernels/strided_copy.h -- moves boxes of elements between layouts: heads to the front, a rank's part of every row,
// row blocks for context parallel ranks. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "kernels/types.h"

namespace kernels {

/// to[sum of i_d to_stride[d]] = from[sum of i_d from_stride[d]] for every index i below `size`, in elements. Slowest
/// dimension first.
struct StridedCopy {
  std::array<std::int64_t, 4> size{1, 1, 1, 1}, from_stride{}, to_stride{};
};

/// [batch, tokens, heads, dim] to [batch, heads, tokens, dim]; its own inverse with tokens and heads exchanged.
constexpr StridedCopy head_transpose(std::int64_t batch, std::int64_t tokens, std::int64_t heads, std::int64_t dim) {
  return {.size = {batch, tokens, heads, dim},
          .from_stride = {tokens * heads * dim, heads * dim, dim, 1},
          .to_stride = {tokens * heads * dim, dim, tokens * dim, 1}};
}

/// `rows` pieces of `width` elements, `from_pitch` and `to_pitch` elements apart: one rank's columns out of whole rows,
/// or back into them.
constexpr StridedCopy row_pieces(std::int64_t rows, std::int64_t width, std::int64_t from_pitch,
                                 std::int64_t to_pitch) {
  return {.size = {1, 1, rows, width}, .from_stride = {0, 0, from_pitch, 1}, .to_stride = {0, 0, to_pitch, 1}};
}

namespace reference {

/// REQUIRES: from and to do not overlap.
void strided_copy(const StridedCopy&, Input from, Output to);

}  // namespace reference

namespace gpu {

void strided_copy(const StridedCopy&, Element element, const void* from, void* to, Stream);

}  // namespace gpu
}  // namespace kernels
