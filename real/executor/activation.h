// real/executor/activation.h -- the activation of a feed-forward without a gate, by what the model has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/task.h"

namespace real {

/// REQUIRES: gelu or squared_relu (supported.cpp refuses others).
inline void plain_forward(Task& task, const Tensor& x, const Tensor& y) {
  if (task.c.model.activation == spec::Activation::squared_relu) return task.backend.squared_relu_forward(x, y);
  task.backend.gelu_forward(kernels::Gelu::tanh, x, y);
}

inline void plain_backward(Task& task, const Tensor& x, const Tensor& dy, const Tensor& dx) {
  if (task.c.model.activation == spec::Activation::squared_relu) return task.backend.squared_relu_backward(x, dy, dx);
  task.backend.gelu_backward(kernels::Gelu::tanh, x, dy, dx);
}

}  // namespace real
