// kernels/adamw.h -- one step of AdamW on flat buffers: fp32 master weights, moments, and the copy that computes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
/// w -= learning_rate (m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + epsilon) + weight_decay w).
/// Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019.
struct AdamW {
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  std::int64_t step = 1;  // from 1
};

namespace reference {

/// g = factor gradient, where factor clips and unscales.
void adamw(const AdamW&, double factor, Input gradient, Output master, Output m, Output v);

}  // namespace reference

namespace gpu {

/// One of many tensors that a launch updates.
struct AdamWTensor {
  const float* gradient = nullptr;
  float* master = nullptr;
  void *m = nullptr, *v = nullptr;
  void* parameter = nullptr;  // receives the new weights; may be null
  std::int64_t count = 0;
};

/// Updates all tensors in few launches. parameter is of `element`, m and v of `moments`, to which they are rounded
/// behind the update; factor lies on the device (null: 1).
void adamw(const AdamW&, Element element, Element moments, std::span<const AdamWTensor>, const float* factor, Stream);

}  // namespace gpu
}  // namespace kernels
