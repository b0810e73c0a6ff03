// kernels/adamw8bit_reference.cpp -- see adamw8bit.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw8bit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/dynamic_code.h"

namespace kernels::reference {
namespace {

class Magnitudes {
 public:
  explicit Magnitudes(DynamicCode kind) {
    for (int i = 0; i <= last_magnitude(kind); ++i) all_[i] = dynamic_magnitude<double>(kind, i);
  }
  double operator()(int index) const { return all_[index]; }

 private:
  std::array<double, 256> all_{};
};

void round(DynamicCode kind, Input moments, Output codes, double& scale) {
  static const Magnitudes with_sign(DynamicCode::with_sign), without_sign(DynamicCode::without_sign);
  const Magnitudes& magnitudes = kind == DynamicCode::with_sign ? with_sign : without_sign;
  scale = 0;
  for (const double moment : moments) scale = std::max(scale, std::fabs(moment));
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const double share = scale > 0 ? moments[i] / scale : 0;
    codes[i] = dynamic_value<double>(kind, dynamic_code(kind, share, magnitudes));
  }
}

}  // namespace

void adamw8bit(const AdamW& a, double factor, Input gradient, Output master, Output m, Output m_scales, Output v,
               Output v_scales) {
  const std::size_t block = kMomentBlock;
  for (std::size_t begin = 0, number = 0; begin < gradient.size(); begin += block, ++number) {
    const std::size_t count = std::min(block, gradient.size() - begin);
    std::vector<double> wide_m(count), wide_v(count);
    for (std::size_t i = 0; i < count; ++i) {
      wide_m[i] = m[begin + i] * m_scales[number];
      wide_v[i] = v[begin + i] * v_scales[number];
    }
    adamw(a, factor, gradient.subspan(begin, count), master.subspan(begin, count), wide_m, wide_v);
    round(DynamicCode::with_sign, wide_m, m.subspan(begin, count), m_scales[number]);
    round(DynamicCode::without_sign, wide_v, v.subspan(begin, count), v_scales[number]);
  }
}

}  // namespace kernels::reference
