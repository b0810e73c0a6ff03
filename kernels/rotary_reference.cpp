// kernels/rotary_reference.cpp -- see rotary.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rotary.h"

#include <algorithm>
#include <cmath>

namespace kernels::reference {

void rotary(const Rotary& r, Direction direction, Indices positions, Input from, Output to) {
  if (from.data() != to.data()) std::copy_n(from.begin(), to.size(), to.begin());
  const std::int64_t half = r.rotary_dim / 2;
  for (std::int64_t token = 0; token < r.tokens; ++token) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(r.rotary_dim);
      const double angle = positions[token] * std::pow(r.base, exponent);
      const double cosine = r.scale * std::cos(angle);
      const double sine = r.scale * std::sin(direction == Direction::forward ? angle : -angle);
      for (std::int64_t head = 0; head < r.heads; ++head) {
        double* values = to.data() + token * r.token_stride + head * r.head_dim + r.first;
        double& a = values[r.interleaved ? 2 * i : i];
        double& b = values[r.interleaved ? 2 * i + 1 : i + half];
        const double turned = a * cosine - b * sine;
        b = a * sine + b * cosine;
        a = turned;
      }
    }
  }
}

}  // namespace kernels::reference
