// real/executor/activation.h -- the activation of a feed-forward, gated or not, by what the model has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/task.h"

namespace real {

/// y has `width` numbers a row; x too, or twice as many where the activation is gated.
inline void activation_forward(Task& task, std::int64_t width, const Tensor& x, const Tensor& y) {
  const std::int64_t rows = y.count / width;
  switch (task.c.model.activation) {
    case spec::Activation::gelu: return task.backend.gelu_forward(kernels::Gelu::tanh, x, y);
    case spec::Activation::relu: return task.backend.relu_forward(kernels::Relu::plain, x, y);
    case spec::Activation::squared_relu: return task.backend.relu_forward(kernels::Relu::squared, x, y);
    case spec::Activation::swiglu: return task.backend.glu_forward({rows, width, kernels::Gate::silu}, x, y);
    case spec::Activation::geglu: return task.backend.glu_forward({rows, width, kernels::Gate::gelu}, x, y);
    case spec::Activation::clamped_swiglu: return task.backend.glu_forward({rows, width, kernels::Gate::clamped}, x, y);
  }
}

inline void activation_backward(Task& task, std::int64_t width, const Tensor& x, const Tensor& dy, const Tensor& dx) {
  const std::int64_t rows = dy.count / width;
  switch (task.c.model.activation) {
    case spec::Activation::gelu: return task.backend.gelu_backward(kernels::Gelu::tanh, x, dy, dx);
    case spec::Activation::relu: return task.backend.relu_backward(kernels::Relu::plain, x, dy, dx);
    case spec::Activation::squared_relu: return task.backend.relu_backward(kernels::Relu::squared, x, dy, dx);
    case spec::Activation::swiglu: return task.backend.glu_backward({rows, width, kernels::Gate::silu}, x, dy, dx);
    case spec::Activation::geglu: return task.backend.glu_backward({rows, width, kernels::Gate::gelu}, x, dy, dx);
    case spec::Activation::clamped_swiglu:
      return task.backend.glu_backward({rows, width, kernels::Gate::clamped}, x, dy, dx);
  }
}

}  // namespace real
