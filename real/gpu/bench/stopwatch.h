// real/gpu/bench/stopwatch.h -- how long the host has waited, and repetitions until enough were seen.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

#include "core/base/units.h"
#include "real/calibrate/bench.h"

namespace real {

class Stopwatch {
 public:
  base::Seconds passed() const {
    return base::Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count());
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Calls `once`, which returns a time, twice to warm up, then until there are kSamples times or `most` has passed.
template <class Once>
std::vector<base::Seconds> repeated(Once once, base::Seconds most) {
  const Stopwatch watch;
  for (int i = 0; i < 2; ++i) once();
  std::vector<base::Seconds> out;
  while (out.size() < kSamples && watch.passed() < most) out.push_back(once());
  return out;
}

}  // namespace real
