// kernels/vendor/batched_matmul.h -- the matmuls of batched_matmul.h by cuBLASLt, in one launch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kernels/batched_matmul.h"
#include "kernels/vendor/matmul.h"

namespace kernels::vendor {

/// cuBLASLt on the current device, without a workspace, so that runs may be on any stream. The plan of a shape is made
/// when it is first met, and kept.
class BatchedMatmulLibrary {
 public:
  /// Throws DeviceError where there is no GPU.
  BatchedMatmulLibrary();
  ~BatchedMatmulLibrary();

  /// Device pointers of the first members. All operands are of one type, bf16 or f32. Throws DeviceError when no
  /// algorithm takes the shape.
  void run(const BatchedMatmul&, Number type, const void* a, const void* b, void* c, Stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kernels::vendor
