// kernels/norm_reference.cpp -- see norm.h.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/norm.h"

namespace kernels::reference {

void norm_forward(const Norm& n, Input x, Input residual, Input weight, Input bias, Output sum, Output y, Output mean,
                  Output rstd) {
  const auto width = static_cast<double>(n.width);
  for (std::int64_t row = 0; row < n.rows; ++row) {
    const std::int64_t at = row * n.width;
    const auto value = [&](std::int64_t i) { return x[at + i] + (residual.empty() ? 0 : residual[at + i]); };
    double mu = 0, square = 0;
    if (n.kind == NormKind::layer) {
      for (std::int64_t i = 0; i < n.width; ++i) mu += value(i) / width;
    }
    for (std::int64_t i = 0; i < n.width; ++i) square += (value(i) - mu) * (value(i) - mu) / width;
    rstd[row] = 1 / std::sqrt(square + n.epsilon);
    if (!mean.empty()) mean[row] = mu;
    for (std::int64_t i = 0; i < n.width; ++i) {
      const double s = value(i);  // read before y or sum, which may be x, is written
      if (!sum.empty()) sum[at + i] = s;
      y[at + i] = (s - mu) * rstd[row] * weight[i] + (bias.empty() ? 0 : bias[i]);
    }
  }
}

void norm_backward(const Norm& n, Input sum, Input weight, Input mean, Input rstd, Input dy, Input dsum, Output dx,
                   Output dweight, Output dbias) {
  const auto width = static_cast<double>(n.width);
  for (std::int64_t row = 0; row < n.rows; ++row) {
    const std::int64_t at = row * n.width;
    const double mu = n.kind == NormKind::layer ? mean[row] : 0;
    const auto normal = [&](std::int64_t i) { return (sum[at + i] - mu) * rstd[row]; };
    double shift = 0, along = 0;  // means of g and of g times the normalised row, g = dy weight
    for (std::int64_t i = 0; i < n.width; ++i) {
      const double g = dy[at + i] * weight[i];
      if (n.kind == NormKind::layer) shift += g / width;
      along += g * normal(i) / width;
      dweight[i] += dy[at + i] * normal(i);
      if (!dbias.empty()) dbias[i] += dy[at + i];
    }
    for (std::int64_t i = 0; i < n.width; ++i) {
      const double through = (dy[at + i] * weight[i] - shift - normal(i) * along) * rstd[row];
      dx[at + i] = through + (dsum.empty() ? 0 : dsum[at + i]);
    }
  }
}

}  // namespace kernels::reference
