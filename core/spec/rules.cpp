// SPDX-License-Identifier: Apache-2.0
#include "core/spec/rules.h"

#include <algorithm>

namespace spec {

std::int64_t times(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t cap = 1'000'000'000'000'000'000;
  return a > cap / std::max<std::int64_t>(b, 1) ? cap : a * b;
}

void Rules::range(const char* field, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value < min || value > max) {
    fault(field, text(value) + " is out of range", "write a whole number from " + text(min) + " to " + text(max));
  }
}

std::int64_t Rules::whole_microbatches() const {
  const std::int64_t dp = data();
  const std::int64_t one = times(t_.micro_batch, dp);
  return dp && t_.global_batch % one == 0 ? t_.global_batch / one : 0;
}

std::int64_t Rules::data() const {
  if (s_.dp) return *s_.dp;
  const std::int64_t others = times(times(s_.tp, s_.cp), s_.pp);
  return cluster_.gpus() % others == 0 ? cluster_.gpus() / others : 0;
}

}  // namespace spec
