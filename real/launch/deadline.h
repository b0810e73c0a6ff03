// real/launch/deadline.h -- a point in time after which nobody is waited for any longer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

#include "core/base/units.h"

namespace real {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline in(base::Seconds patience) {
    return Deadline(Clock::now() +
                    std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(patience.si())));
  }

  bool passed() const { return Clock::now() >= end_; }
  /// Rounded up, so that a poll of this length does not end just before; 0 when passed.
  int milliseconds_left() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
  }
  Deadline sooner(Deadline other) const { return Deadline(std::min(end_, other.end_)); }
  Clock::time_point end() const { return end_; }

 private:
  explicit Deadline(Clock::time_point end) : end_(end) {}
  Clock::time_point end_;
};

}  // namespace real
