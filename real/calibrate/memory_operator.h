// real/calibrate/memory_operator.h -- the operators that wait for memory as calibration times them, and the bytes that
// each has to move. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/plan/work.h"

namespace real {

/// Over a matrix [rows, width] of bf16 numbers, fp32 where the operator's state is.
struct MemoryOperator {
  enum class What : std::uint8_t {
    copy,
    squared_norm,
    norm_forward,
    norm_backward,
    swiglu_forward,
    swiglu_backward,
    rotary,
    embedding,
    loss_gradient,
    adamw,
    cast,
    softmax
  };
  What what = What::copy;
  std::int64_t rows = 0, width = 0;
};

struct MemoryOperatorKind {
  std::string_view name;
  plan::MemoryBound::Kind priced_as;
  int bytes;  // read and written for a number of the matrix, each once
};

/// In the order of MemoryOperator::What.
inline constexpr std::array<MemoryOperatorKind, 12> kMemoryOperators{{
    {"copy", plan::MemoryBound::Kind::copy, 4},
    {"squared_norm", plan::MemoryBound::Kind::reduce, 4},           // fp32
    {"norm_forward", plan::MemoryBound::Kind::norm, 8},             // x and residual; their sum and y
    {"norm_backward", plan::MemoryBound::Kind::norm, 8},            // the sum, dy and the residual's gradient; dx
    {"swiglu_forward", plan::MemoryBound::Kind::elementwise, 6},    // gate and up; y, which is `width` wide
    {"swiglu_backward", plan::MemoryBound::Kind::elementwise, 10},  // gate, up and dy; gradients of the two
    {"rotary", plan::MemoryBound::Kind::elementwise, 4},            // in place
    {"embedding", plan::MemoryBound::Kind::embedding, 4},           // a row of the table a token; y
    {"loss_gradient", plan::MemoryBound::Kind::loss, 4},            // logits; their gradient in place
    {"adamw", plan::MemoryBound::Kind::optimizer, 30},              // fp32 gradient, w, m, v; w, m, v and a bf16 copy
    {"cast", plan::MemoryBound::Kind::cast, 4},                     // bf16; fp8 in both layouts, one scale
    {"softmax", plan::MemoryBound::Kind::softmax, 4},               // scores of a query; their probabilities
}};

inline constexpr std::int64_t kWidth = 4096, kVocabulary = 32768;  // of a row; a loss's are a vocabulary
// Smaller matrices stay in the cache of a large GPU, and no curve is fitted to them.
inline constexpr std::int64_t kSmallestMemory = std::int64_t{160} << 20, kLargestMemory = std::int64_t{4} << 30;

constexpr const MemoryOperatorKind& kind_of(const MemoryOperator& op) {
  return kMemoryOperators[static_cast<std::size_t>(op.what)];
}
constexpr std::int64_t bytes_of(const MemoryOperator& op) { return op.rows * op.width * kind_of(op).bytes; }

}  // namespace real
