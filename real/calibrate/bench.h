// real/calibrate/bench.h -- what times a point: a GPU (real/gpu/bench), or in tests a device of known curves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/base/units.h"
#include "real/calibrate/shape.h"
#include "real/measure/measurement.h"

namespace real {

inline constexpr int kSamples = 20;  // of a point, where time allows

class Bench {
 public:
  virtual ~Bench() = default;

  /// Times of `shape`, one a repetition, warmed up: kSamples, or fewer where `most` has passed by then. Throws
  /// base::DeviceError: this point cannot be timed here, others can; any other exception: none can any more.
  virtual std::vector<base::Seconds> time(const Shape& shape, base::Seconds most) = 0;
  /// The card's state behind the last point that was timed.
  virtual Condition condition() = 0;
  /// Since some instant before the first point. Time that passes is what a budget is of.
  virtual base::Seconds now() = 0;
};

}  // namespace real
