// kernels/vendor/attention.h -- the attention of attention.h by cuDNN: bf16, forward and backward.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "kernels/attention.h"

namespace kernels::vendor {

enum class Pass { forward, backward };

/// cuDNN on the current device. The plan of a shape is made, its kernel compiled (about half a second), when it is
/// first met, and kept. Takes causal masks without an offset, no windows, dropout or linear biases; others throw
/// DeviceError, and are gpu::'s.
class AttentionLibrary {
 public:
  /// Throws DeviceError where there is no GPU.
  AttentionLibrary();
  ~AttentionLibrary();

  /// Bytes that a run of this shape wants to be lent.
  std::size_t workspace_bytes(const Attention&, Pass);

  /// As kernels::gpu's, with a workspace. Backward adds dq in an order that is not fixed.
  void forward(const Attention&, const void* q, const void* k, const void* v, void* out, float* lse, void* workspace,
               Stream);
  void backward(const Attention&, const void* q, const void* k, const void* v, const void* out, const float* lse,
                const void* dout, void* dq, void* dk, void* dv, void* workspace, Stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// How many of its engines' configurations cuDNN would try for this shape on a device that is not here, described by
/// the JSON of cuDNN's device properties. 0: it does not take the shape. Needs a libcuda.so.1, for which the toolkit's
/// stub does.
int accepted_configurations(const Attention&, Pass, const std::string& device);

}  // namespace kernels::vendor
