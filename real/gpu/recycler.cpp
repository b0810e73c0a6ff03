// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/recycler.h"

namespace real {

Event Recycler::fresh() {
  if (spare_.empty()) return Event();
  Event event = std::move(spare_.back());
  spare_.pop_back();
  return event;
}

void Recycler::put(DeviceBuffer buffer, std::uint32_t used) noexcept {
  Waiting& one = waiting_.emplace_back();
  one.buffer = std::move(buffer);
  if (!holds_) one.past.record(streams_, used, [this] { return fresh(); });
}

void Recycler::poll() {
  if (holds_) return;
  const auto done = [&](Waiting& one) {
    if (!one.past.over()) return false;
    for (Event& event : one.past.until) spare_.push_back(std::move(event));
    return true;
  };
  std::erase_if(waiting_, done);
}

void Recycler::clear() { waiting_.clear(); }

}  // namespace real
