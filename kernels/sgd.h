// kernels/sgd.h -- one step of SGD with momentum on flat buffers: fp32 master weights, momentum, and the copy that
// computes. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

/// m = momentum m + g + weight_decay w, w -= learning_rate m. Without dampening, as torch.optim.SGD; a first m is 0.
/// Source: Polyak, "Some methods of speeding up the convergence of iteration methods", 1964.
struct Sgd {
  double learning_rate = 1e-2, momentum = 0.9, weight_decay = 0;
};

namespace reference {

/// g = factor gradient, where factor clips and unscales.
void sgd(const Sgd&, double factor, Input gradient, Output master, Output m);

}  // namespace reference

namespace gpu {

/// One of many tensors that a launch updates.
struct SgdTensor {
  const float* gradient = nullptr;
  float* master = nullptr;
  void* m = nullptr;
  void* parameter = nullptr;  // receives the new weights; may be null
  std::int64_t count = 0;
};

/// Updates all tensors in few launches. parameter is of `element`, m of `moments`, to which it is rounded behind the
/// update; factor lies on the device (null: 1).
void sgd(const Sgd&, Element element, Element moments, std::span<const SgdTensor>, const float* factor, Stream);

}  // namespace gpu
}  // namespace kernels
