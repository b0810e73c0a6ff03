// real/executor/actions/narrow_experts.h -- matmuls of experts below 16 bits. Each expert's weights, rows and gradients
// have scales of their own, as in Transformer Engine's GroupedLinear (2025): each is a layer by itself (casts.h).
//
// A weight gradient sums over an expert's rows, of which tensor cores want whole blocks: rows of zeros fill up the last
// one, as its padding does. With scales of 128 x 128 all passes do so: cuBLASLt takes rows in fours alone then, and the
// scales of lines lie by whole blocks. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/actions/casts.h"

namespace real {

/// Casts what the experts of `shape` hold of an operand: weights [experts, out, in], others [rows, in or out].
void cast_of_experts(Task&, const std::string& layer, const kernels::GroupedMatmul& shape, Operand, const Tensor& x);

/// The other layout of each expert's weight, of codes.
void turn_weights_of_experts(Task&, const std::string& layer, const kernels::GroupedMatmul& shape);

/// y [rows, out], dx [rows, in] or dW [experts, out, in] of operands that are cast, by the pass of `shape`.
void narrow_grouped_matmul(Task&, const std::string& layer, const kernels::GroupedMatmul& shape, const Tensor& result);

}  // namespace real
