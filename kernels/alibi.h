// kernels/alibi.h -- attention with linear biases: a score is lowered by the distance of its two tokens, head by head
// at a slope of its own. Source: Press, Smith, Lewis, "Train Short, Test Long" (ALiBi), ICLR 2022, section 3, and its
// code for numbers of heads that are no power of two. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>

#include "kernels/host_device.h"

namespace kernels {

struct Alibi {
  std::int64_t heads = 0;  // of the whole model; 0: no biases
  std::int64_t first = 0;  // the model's head that is the kernel's first

  auto operator<=>(const Alibi&) const = default;
  /// Head h of n, a power of two, has 2^(-8 (h + 1) / n). Of other numbers the first m, the power of two below, have
  /// those of m, the others every second one of 2 m.
  KERNELS_HOST_DEVICE constexpr double exponent(std::int64_t head) const {
    std::int64_t power = 1;
    while (2 * power <= heads) power *= 2;
    const std::int64_t h = first + head;
    return h < power ? -8.0 * static_cast<double>(h + 1) / static_cast<double>(power)
                     : -4.0 * static_cast<double>(2 * (h - power) + 1) / static_cast<double>(power);
  }
  /// 0 where there are none.
  KERNELS_HOST_DEVICE double slope(std::int64_t head) const { return heads == 0 ? 0.0 : exp2(exponent(head)); }
  /// What is added to the score of two tokens that lie `behind` one another, whichever is the later one.
  KERNELS_HOST_DEVICE double bias(std::int64_t head, std::int64_t behind) const {
    return -slope(head) * static_cast<double>(behind < 0 ? -behind : behind);
  }
};

}  // namespace kernels
