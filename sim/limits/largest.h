// sim/limits/largest.h -- the last value of a row that still fits, found in few looks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace sim {

/// Values from, from + step ... up to most. REQUIRES: step > 0.
struct Row {
  std::int64_t first = 1, step = 1, most = 1;
};

struct LastThatFits {
  std::optional<std::int64_t> reached;  // none: the first does not fit
  std::optional<std::int64_t> next;     // the one behind it; none: the row's last fits
};

/// REQUIRES: what fits is followed by nothing smaller that does not. Looks at O(log(row)) values, `near` first.
LastThatFits last_that_fits(const Row&, std::int64_t near, const std::function<bool(std::int64_t)>& fits);

}  // namespace sim
