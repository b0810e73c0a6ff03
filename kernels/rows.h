// kernels/rows.h -- the bias of a linear layer: added to every row, and its gradient summed over them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

namespace reference {

/// y [rows, width] += bias [width], in each row.
void add_rows(Input bias, Output y);
/// dbias [width] += the sum over the rows of dy [rows, width].
void sum_rows(Input dy, Output dbias);

}  // namespace reference

namespace gpu {

void add_rows(std::int64_t rows, std::int64_t width, Element element, const void* bias, void* y, Stream);
/// fp32 atomics between pieces of the rows: the order in which they are added is not fixed.
void sum_rows(std::int64_t rows, std::int64_t width, Element element, const void* dy, float* dbias, Stream);

}  // namespace gpu
}  // namespace kernels
