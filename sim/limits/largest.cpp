// SPDX-License-Identifier: Apache-2.0
#include "sim/limits/largest.h"

#include <algorithm>

namespace sim {

LastThatFits last_that_fits(const Row& row, std::int64_t near, const std::function<bool(std::int64_t)>& fits) {
  const std::int64_t places = (row.most - row.first) / row.step + 1;  // place 0 is the first value
  const auto value = [&](std::int64_t place) { return row.first + place * row.step; };
  const auto fits_at = [&](std::int64_t place) { return fits(value(place)); };
  // Ever longer strides from `near`, so that a far end of the row, dear to look at, is not looked at first.
  std::int64_t last = -1, beyond = places;  // `last` fits, `beyond` does not
  const std::int64_t start = std::clamp<std::int64_t>((near - row.first) / row.step, 0, places - 1);
  if (fits_at(start)) {
    last = start;
    for (std::int64_t stride = std::max<std::int64_t>(1, start); last + stride < places; stride *= 2) {
      if (!fits_at(last + stride)) {
        beyond = last + stride;
        break;
      }
      last += stride;
    }
  } else {
    beyond = start;
  }
  while (beyond - last > 1) {
    const std::int64_t middle = last + (beyond - last) / 2;
    (fits_at(middle) ? last : beyond) = middle;
  }
  LastThatFits out;
  if (last >= 0) out.reached = value(last);
  if (beyond < places) out.next = value(beyond);
  return out;
}

}  // namespace sim
