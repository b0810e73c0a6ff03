// real/executor/actions/narrow.h -- linear layers whose matmuls run in fp8 (core/plan/low_precision.h): inputs and
// weights in e4m3, gradients in e5m2, results in 16 bits. An operand has one scale, taken from its own largest
// magnitude (tensorwise) or from the one of the step before (delayed; 1 in the first step, which has none before it).
// In mxfp8 all are e4m3, with a scale for every 32 numbers of a row of either layout; rowwise with one for each row,
// blockwise for every 128 numbers of it, of weights for squares of 128.
//
// Matmuls multiply along the rows of both operands, so most are cast to two layouts: codes [rows, columns] and turned
// [columns, rows]. Where a framework has a matmul for each part of the outputs, weights and gradients are cast part by
// part under one scale, one part behind the other in both layouts.
//
// Under sequence parallelism a rank casts its shard, where there is one scale by one that the group agrees upon. Codes
// are gathered, and turned behind the gather; where the other layout has scales of its own, it is gathered where it is
// read. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/actions/casts.h"
#include "real/executor/actions/linear.h"
#include "real/executor/actions/row_blocks.h"

namespace real {

/// Whether the matmul under way has operands of 8 bits.
bool is_narrow(const Task&);
/// Whether those of the operator's layer have, as far as they are the Plan's linear layers.
bool is_narrow_layer(const Task&);

/// The codes of what a column-parallel layer reads, and of what flows back to a row-parallel one, of all ranks.
void gather_input_codes(Task&, const Linear&);
void gather_gradient_codes(Task&, const Linear&);

/// Name of the codes that a layer multiplies in its forward.
std::string input_codes_name(const Linear&);
/// As many elements as the gradient of the output, and as the input, that a backward's matmul reads.
Tensor narrow_gradient(Task&, const Linear&);
Tensor narrow_input(Task&, const Linear&);

/// What a ring brings of a column-parallel layer's input.
std::vector<Ring> rings_of_codes(Task&, const Linear&);
/// As column_blocks() and row_block(), of codes.
std::vector<RowBlock> narrow_column_blocks(Task&, const Linear&, std::int64_t number, std::int64_t width);
RowBlock narrow_row_block(Task&, const Linear&, std::int64_t number, std::int64_t width);

/// y [rows, width] = x W^T of a piece of the outputs, x [rows, in] in codes.
void narrow_forward(Task&, const Linear&, const Piece&, const RowBlock& x, const Tensor& y);
/// Behind the last piece of a forward: lets go what no backward reads.
void leave_casts(Task&, const Linear&);
/// dx [tokens, in] = dy W, from a piece of the outputs.
void narrow_input_gradient(Task&, const Linear&, const Piece&, const Tensor& dx);
/// dW [width, in] = dy^T x, or added to what is there.
void narrow_weight_gradient(Task&, const Linear&, const Piece&, const Tensor& dw, bool adds);

/// Behind a norm that writes fp8 itself, which the Plan shows by having no cast of the input: casts for its readers.
void cast_behind_norm(Task&, const std::string& norm);

}  // namespace real
