// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/recycler.h"

#include <algorithm>

#include "core/base/fault.h"

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
  if (holds_) return;
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    if ((used >> s & 1u) == 0) continue;
    try {
      one.until.push_back(fresh());
      one.until.back().record(streams_[s]);
    } catch (const base::DeviceError&) {
      one.known = false;
    }
  }
}

void Recycler::poll() {
  if (holds_) return;
  const auto done = [&](Waiting& one) {
    const auto over = [](const Event& event) { return cudaEventQuery(event.get()) == cudaSuccess; };
    if (!one.known || !std::ranges::all_of(one.until, over)) return false;
    for (Event& event : one.until) spare_.push_back(std::move(event));
    return true;
  };
  std::erase_if(waiting_, done);
}

void Recycler::clear() { waiting_.clear(); }

}  // namespace real
