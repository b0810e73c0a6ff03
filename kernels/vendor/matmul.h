// kernels/vendor/matmul.h -- the matmul of matmul.h by cuBLASLt, with the algorithm that its heuristics choose.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "kernels/fp8.h"
#include "kernels/matmul.h"

namespace kernels::vendor {

enum class Number { bf16, f32, e4m3, e5m2 };

constexpr std::int64_t bytes_of(Number number) { return number == Number::f32 ? 4 : number == Number::bf16 ? 2 : 1; }

/// What a matmul is computed in; sums are fp32. Both operands are bf16, or both fp8 (not both e5m2, which hold
/// gradients).
struct MatmulTypes {
  Number a = Number::bf16, b = Number::bf16, c = Number::bf16;
  int sms = 0;             // SMs that the kernel may count on; 0: all. Others may be held by communication.
  bool fast_sums = false;  // of fp8 operands: partial sums stay in the tensor cores, with fewer bits
  /// Of fp8 operands: which numbers share a scale, along what is summed (mx_cast.h, block_cast.h).
  Scales scales_a = Scales::tensor, scales_b = Scales::tensor;
};

/// Device pointers; to multiples of 16 bytes where operands are in fp8, and fastest there. `addend` is what beta
/// multiplies (null: c itself), [m, n] of c's type: a residual, say.
struct MatmulOperands {
  const void *a = nullptr, *b = nullptr, *addend = nullptr;
  void* c = nullptr;
  const void *scale_a = nullptr,
             *scale_b = nullptr;  // of fp8 operands, on the device: an fp32 number, or as the casts leave them
};

/// cuBLASLt on the current device. The plan of a shape is made when it is first met, and kept.
class MatmulLibrary {
 public:
  static constexpr std::size_t kWorkspace = 32 << 20;  // what cuBLAS's documentation advises for Hopper

  /// `workspace`: kWorkspace bytes of the device, which outlive this; null: taken, and given back, here. Throws
  /// DeviceError where there is no GPU.
  explicit MatmulLibrary(void* workspace = nullptr);
  ~MatmulLibrary();

  /// Throws DeviceError when no algorithm takes the shape and types: Hopper's fp8 wants transpose_b alone, and rows of
  /// a multiple of 16 elements; scales of rows, lines and squares are taken by Hopper alone, not by squares on both
  /// sides, and from cuBLAS 12.9 on. Runs of one library share its workspace, so they belong on one stream.
  void run(const Matmul&, const MatmulTypes&, const MatmulOperands&, Stream);

  /// The algorithm chosen, its tile, stages, split of k and waves, as text.
  std::string algorithm(const Matmul&, const MatmulTypes&);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kernels::vendor
