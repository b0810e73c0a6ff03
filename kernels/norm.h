// kernels/norm.h -- RMSNorm and LayerNorm over the rows of a matrix, with the residual add in front of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

enum class NormKind { rms, layer };

/// One normalisation of `rows` vectors of `width` elements.
struct Norm {
  NormKind kind = NormKind::rms;
  std::int64_t rows = 0, width = 0;
  double epsilon = 1e-5;
};

namespace reference {

/// sum = x + residual (x when residual is empty), y = (sum - mean) rstd weight + bias, with
/// rstd = 1 / sqrt(mean of (sum - mean)^2 + epsilon) and, for rms, mean = 0.
///   x, residual, sum, y [rows, width]; weight, bias [width]; mean, rstd [rows]
/// residual, bias, sum and mean may be empty. Source: Zhang and Sennrich, NeurIPS 2019 (RMSNorm).
void norm_forward(const Norm&, Input x, Input residual, Input weight, Input bias, Output sum, Output y, Output mean,
                  Output rstd);

/// dx is the gradient of `sum`, which is that of x and of residual alike: what comes through y, plus dsum, which
/// reached sum on the residual path (may be empty). Adds to dweight and dbias [width]; dbias may be empty, mean too for
/// rms.
void norm_backward(const Norm&, Input sum, Input weight, Input mean, Input rstd, Input dy, Input dsum, Output dx,
                   Output dweight, Output dbias);

}  // namespace reference

namespace gpu {

/// As the references; null stands for empty. Elements of `element` but for mean, rstd, dweight and dbias, which are
/// fp32. dx may be dsum, not sum or dy. In what order the sums over rows are taken depends on the shape and on whether
/// dx is dsum, never on the GPU.
void norm_forward(const Norm&, Element element, const void* x, const void* residual, const void* weight,
                  const void* bias, void* sum, void* y, float* mean, float* rstd, Stream);
void norm_backward(const Norm&, Element element, const void* sum, const void* weight, const float* mean,
                   const float* rstd, const void* dy, const void* dsum, void* dx, float* dweight, float* dbias, Stream);

}  // namespace gpu
}  // namespace kernels
