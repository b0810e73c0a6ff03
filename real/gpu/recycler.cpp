// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/recycler.h"

namespace real {

Event Recycler::fresh() {
  if (spare_.empty()) return Event();
  Event event = std::move(spare_.back());
  spare_.pop_back();
  return event;
}

/// Then its own stream gives it back in order, and however far the host is ahead, no more memory is taken.
bool Recycler::is_behind(plan::Stream home, const Uses& uses) const {
  for (int s = 0; s < plan::kStreams; ++s) {
    const auto user = static_cast<plan::Stream>(s);
    if ((uses.streams >> s & 1u) != 0 && !board_.is_behind(home, user, uses.until[static_cast<std::size_t>(s)])) {
      return false;
    }
  }
  return true;
}

void Recycler::put(DeviceBuffer buffer, plan::Stream home, const Uses& uses) noexcept {
  if (!holds_ && is_behind(home, uses)) return;
  Waiting& one = waiting_[{home, uses.streams}].emplace_back();
  one.buffer = std::move(buffer);
  one.uses = uses;
  one.number = ++put_;
  if (!holds_) one.past.record(streams_, uses.streams, [this] { return fresh(); });
}

void Recycler::let_go_first(Line& line) {
  for (Event& event : line.front().past.until) spare_.push_back(std::move(event));
  line.pop_front();
}

void Recycler::poll() {
  if (holds_) return;
  for (auto& [key, line] : waiting_) {
    while (!line.empty() && (is_behind(key.first, line.front().uses) || line.front().past.over())) let_go_first(line);
  }
}

void Recycler::clear() {
  for (auto& [key, line] : waiting_) {
    while (!line.empty()) let_go_first(line);
  }
}

}  // namespace real
