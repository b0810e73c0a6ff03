// SPDX-License-Identifier: Apache-2.0
#include "sim/search/leaders.h"

#include <iterator>
#include <tuple>

namespace sim {

bool Leaders::Order::operator()(const Standing& a, const Standing& b) const {
  if (by_memory) return std::tie(a.bytes, a.time, a.point) < std::tie(b.bytes, b.time, b.point);
  return std::tie(a.time, a.bytes, a.point) < std::tie(b.time, b.bytes, b.point);
}

/// Whether one on the front is at least as good in both and better in one.
bool Leaders::off_the_front(const Standing& bounds) const {
  auto above = front_.upper_bound(bounds.bytes);  // those before it need no more bytes, the last is the fastest
  if (above == front_.begin()) return false;
  const Standing& rival = std::prev(above)->second;
  return rival.time < bounds.time || (rival.time == bounds.time && rival.bytes < bounds.bytes);
}

bool Leaders::beaten(const Standing& bounds) {
  const std::lock_guard lock(guard_);
  if (best_.size() < places_ || !Order{by_memory_}(*best_.rbegin(), bounds)) return false;
  return off_the_front(bounds);
}

void Leaders::add(const Standing& one) {
  const std::lock_guard lock(guard_);
  best_.insert(one);
  if (best_.size() > places_) best_.erase(std::prev(best_.end()));
  if (off_the_front(one)) return;
  const auto [at, fresh] = front_.try_emplace(one.bytes, one);
  if (!fresh) {  // of equals the first
    if (std::tie(at->second.time, at->second.point) <= std::tie(one.time, one.point)) return;
    at->second = one;
  }
  for (auto slower = std::next(at); slower != front_.end() && slower->second.time >= one.time;) {
    slower = front_.erase(slower);
  }
}

std::vector<Standing> Leaders::best() const {
  const std::lock_guard lock(guard_);
  return {best_.begin(), best_.end()};
}

std::vector<Standing> Leaders::front() const {
  const std::lock_guard lock(guard_);
  std::vector<Standing> out;
  for (auto one = front_.rbegin(); one != front_.rend(); ++one) out.push_back(one->second);
  return out;
}

}  // namespace sim
