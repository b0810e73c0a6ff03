// sim/search/nearest.h -- where nothing fits: the strategy that comes nearest to the memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>

#include "sim/search/leaders.h"

namespace sim {

/// Whether `a` is the nearer of two that do not fit: it needs fewer bytes, or as many and is the first.
bool nearer(const Standing& a, const Standing& b);

/// The nearest of what does not fit, as long as nothing does. Any number of threads may use it; what it holds at the
/// end does not depend on the order of what came.
class Nearest {
 public:
  /// How many bytes a strategy may need and still matter: `capacity` once something fits, till then what the nearest
  /// needs.
  std::int64_t limit(std::int64_t capacity) const;
  void something_fits() { any_fits_ = true; }
  void add(const spec::SearchPoint&, std::int64_t bytes);
  /// Without a time.
  std::optional<Standing> best() const;

 private:
  std::atomic<bool> any_fits_{false};
  std::atomic<std::int64_t> least_{std::numeric_limits<std::int64_t>::max()};
  mutable std::mutex guard_;
  std::optional<Standing> best_;
};

}  // namespace sim
