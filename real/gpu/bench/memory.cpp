// real/gpu/bench/memory.cpp -- operators that wait for memory, by the kernels of kernels/; a function each.
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "kernels/adamw.h"
#include "kernels/cast.h"
#include "kernels/cross_entropy.h"
#include "kernels/embedding.h"
#include "kernels/glu.h"
#include "kernels/gradient_norm.h"
#include "kernels/norm.h"
#include "kernels/rotary.h"
#include "kernels/softmax.h"
#include "real/gpu/bench/kit.h"

namespace real {
namespace {

namespace gpu = kernels::gpu;
constexpr kernels::Element kBf16 = kernels::Element::bf16;
constexpr std::int64_t kHeadDim = 128, kTable = 128'256;  // rows of a table: Llama 3's vocabulary

/// A matrix of the operator's size, and room for others.
struct Matrices {
  Arena& arena;
  const Stream& stream;
  std::int64_t rows, width;

  std::int64_t count() const { return rows * width; }
  void* filled(std::int64_t times = 1) const { return arena.numbers(times * count(), Filling::bf16); }
  void* room(std::int64_t times = 1) const { return arena.room(2 * times * count()); }
};

Work copy(const Matrices& m) {
  return [from = m.filled(), to = m.room(), bytes = static_cast<std::size_t>(2 * m.count())](const Stream& s) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, s.get()), "cudaMemcpyAsync");
  };
}

Work squared_norm(const Matrices& m) {
  const float* values = m.arena.floats(m.count());
  auto* total = static_cast<double*>(m.arena.room(sizeof(double)));
  return [=, count = m.count()](const Stream& s) { gpu::squared_norm(count, values, total, s.get()); };
}

Work norm_forward(const Matrices& m) {
  const kernels::Norm norm{.rows = m.rows, .width = m.width};
  return [=, x = m.filled(), residual = m.filled(), weight = m.arena.numbers(m.width, Filling::bf16), sum = m.room(),
          y = m.room(), rstd = m.arena.floats(m.rows)](const Stream& s) {
    gpu::norm_forward(norm, kBf16, x, residual, weight, nullptr, sum, y, nullptr, rstd, s.get());
  };
}

Work norm_backward(const Matrices& m) {
  const kernels::Norm norm{.rows = m.rows, .width = m.width};
  return [=, sum = m.filled(), dy = m.filled(), dsum = m.filled(), dx = m.room(),
          weight = m.arena.numbers(m.width, Filling::bf16), rstd = m.arena.floats(m.rows),
          dweight = m.arena.floats(m.width)](const Stream& s) {
    gpu::norm_backward(norm, kBf16, sum, weight, nullptr, rstd, dy, dsum, dx, dweight, nullptr, s.get());
  };
}

Work swiglu_forward(const Matrices& m) {
  return [shape = kernels::Glu{m.rows, m.width}, gate_up = m.filled(2), y = m.room()](const Stream& s) {
    gpu::glu_forward(shape, kBf16, gate_up, y, s.get());
  };
}

Work swiglu_backward(const Matrices& m) {
  return [shape = kernels::Glu{m.rows, m.width}, gate_up = m.filled(2), dy = m.filled(),
          dgate_up = m.room(2)](const Stream& s) { gpu::glu_backward(shape, kBf16, gate_up, dy, dgate_up, s.get()); };
}

Work rotary(const Matrices& m) {
  const kernels::Rotary shape{.tokens = m.rows,
                              .heads = m.width / kHeadDim,
                              .head_dim = kHeadDim,
                              .rotary_dim = kHeadDim,
                              .token_stride = m.width};
  return [=, heads = m.filled(), positions = m.arena.indices(m.rows, 4096)](const Stream& s) {
    gpu::rotary(shape, kernels::Direction::forward, kBf16, positions, heads, heads, s.get());
  };
}

Work embedding(const Matrices& m) {
  return [shape = kernels::Embedding{.tokens = m.rows, .width = m.width, .vocabulary = kTable},
          table = m.arena.numbers(kTable * m.width, Filling::bf16), ids = m.arena.indices(m.rows, kTable),
          y = m.room()](const Stream& s) { gpu::embedding_forward(shape, kBf16, ids, table, y, s.get()); };
}

/// In place, over and over: maximum and total stay those of the first logits, so that numbers stay small.
Work loss_gradient(const Matrices& m) {
  const kernels::CrossEntropy shape{.rows = m.rows, .vocabulary = m.width};
  void* const logits = m.filled();
  const std::int32_t* const targets = m.arena.indices(m.rows, m.width);
  float *const maximum = m.arena.floats(m.rows), *const total = m.arena.floats(m.rows);
  gpu::cross_entropy_maximum(shape, kBf16, logits, maximum, m.stream.get());
  gpu::cross_entropy_sums(shape, kBf16, targets, logits, maximum, total, m.arena.floats(m.rows), m.stream.get());
  return [=](const Stream& s) { gpu::cross_entropy_gradient(shape, kBf16, targets, maximum, total, logits, s.get()); };
}

Work adamw(const Matrices& m) {
  const gpu::AdamWTensor tensor{.gradient = m.arena.floats(m.count()),
                                .master = m.arena.floats(m.count()),
                                .m = m.arena.floats(m.count()),
                                .v = m.arena.floats(m.count()),
                                .parameter = m.room(),
                                .count = m.count()};
  m.arena.zero(tensor.v, 4 * m.count());  // no square is negative
  return [tensors = std::array{tensor}](const Stream& s) {
    gpu::adamw(kernels::AdamW{}, kBf16, kernels::Element::f32, tensors, nullptr, s.get());
  };
}

Work cast(const Matrices& m) {
  const auto codes = [&] { return static_cast<std::uint8_t*>(m.arena.room(m.count())); };
  return [shape = kernels::Cast{.rows = m.rows, .columns = m.width}, x = m.filled(), scale = m.arena.floats(1),
          across = codes(),
          down = codes()](const Stream& s) { gpu::cast(shape, kBf16, x, scale, across, down, nullptr, s.get()); };
}

Work softmax(const Matrices& m) {
  const kernels::Softmax shape{.matrices = 1, .queries = m.rows, .keys = m.width};
  return [=, scores = m.filled(), probabilities = m.room()](const Stream& s) {
    gpu::softmax_forward(shape, kBf16, scores, nullptr, nullptr, probabilities, nullptr, s.get());
  };
}

/// In the order of MemoryOperator::What.
constexpr std::array kWorks{copy,   squared_norm, norm_forward,  norm_backward, swiglu_forward, swiglu_backward,
                            rotary, embedding,    loss_gradient, adamw,         cast,           softmax};
static_assert(kWorks.size() == kMemoryOperators.size());

}  // namespace

Work prepared(const MemoryOperator& op, Kit& kit) {
  return kWorks.at(static_cast<std::size_t>(op.what))({kit.arena, kit.stream, op.rows, op.width});
}

}  // namespace real
