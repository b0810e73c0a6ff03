// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/goodput.h"

#include <cmath>

namespace sim {

base::Seconds expected_segment(const Rhythm& r, base::Seconds work) {
  const base::Seconds length = work + r.write;
  const double rate = r.failures.si();
  if (!(rate > 0)) return length;
  return base::s(std::expm1(rate * length.si()) * (1 / rate + r.down.si()));
}

base::Seconds expected_run(const Rhythm& r, base::Seconds work) {
  const double segments = std::floor(work / r.interval);
  const base::Seconds rest = work - r.interval * segments;
  base::Seconds time = expected_segment(r, r.interval) * segments;
  if (rest.si() > 0) time += expected_segment(r, rest);
  return time;
}

base::Seconds young_interval(base::Seconds write, base::Hertz failures) {
  return base::s(std::sqrt(2 * write.si() / failures.si()));
}

base::Seconds daly_interval(base::Seconds write, base::Hertz failures) {
  const double mtbf = 1 / failures.si(), half = write.si() / (2 * mtbf);
  if (half >= 1) return base::s(mtbf);
  return young_interval(write, failures) * (1 + std::sqrt(half) / 3 + half / 9) - write;
}

base::Seconds best_interval(base::Seconds write, base::Hertz failures) {
  // With x = l tau: 1 - x = e^-(x + l delta). The left side is above the right at 0 and below it at 1, once between.
  const double loss = failures.si() * write.si();
  double low = 0, high = 1;
  for (int i = 0; i < 100; ++i) {
    const double x = (low + high) / 2;
    (1 - x > std::exp(-(x + loss)) ? low : high) = x;
  }
  return base::s((low + high) / 2 / failures.si());
}

}  // namespace sim
