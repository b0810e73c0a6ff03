// SPDX-License-Identifier: Apache-2.0
#include "sim/search/nearest.h"

#include <algorithm>
#include <tuple>

namespace sim {

bool nearer(const Standing& a, const Standing& b) { return std::tie(a.bytes, a.point) < std::tie(b.bytes, b.point); }

std::int64_t Nearest::limit(std::int64_t capacity) const {
  return any_fits_ ? capacity : std::max<std::int64_t>(capacity, least_);
}

void Nearest::add(const spec::SearchPoint& point, std::int64_t bytes) {
  if (any_fits_ || bytes > least_) return;
  const Standing one{0, bytes, point};
  const std::lock_guard lock(guard_);
  if (best_ && !nearer(one, *best_)) return;
  best_ = one;
  least_ = bytes;
}

std::optional<Standing> Nearest::best() const {
  const std::lock_guard lock(guard_);
  return any_fits_ ? std::nullopt : best_;
}

}  // namespace sim
