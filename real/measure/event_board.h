// real/measure/event_board.h -- which of a Plan's waits a device has to be told of, and what a stream has behind it by
// those that it was told of. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/plan/plan.h"

namespace real {

/// An event stands for its latest record; one that was never recorded holds nobody up, and neither does one of the
/// waiting stream itself, which is in order anyway.
///
/// Records of a stream are counted, and what is given to it is behind all of them when the next one is: vector clocks,
/// as real/executor/order.h has them, of what is issued.
class EventBoard {
 public:
  using Records = std::uint32_t;

  void record(plan::EventId event, plan::Stream by) {
    const auto stream = static_cast<std::size_t>(by);
    ++seen_[stream][stream];
    recorded_[static_cast<std::size_t>(event)] = {static_cast<int>(by), seen_[stream]};
  }
  bool must_wait(plan::Stream stream, plan::EventId event) const {
    if (event < 0) return false;
    const int by = recorded_[static_cast<std::size_t>(event)].by;
    return by != kNever && by != static_cast<int>(stream);
  }
  /// The device was told of it. REQUIRES: must_wait()
  void wait(plan::Stream stream, plan::EventId event) {
    Clock& own = seen_[static_cast<std::size_t>(stream)];
    std::ranges::transform(own, recorded_[static_cast<std::size_t>(event)].seen, own.begin(),
                           [](Records a, Records b) { return std::max(a, b); });
  }
  /// The record of `stream` that will be behind what it is given now.
  Records next(plan::Stream stream) const {
    return seen_[static_cast<std::size_t>(stream)][static_cast<std::size_t>(stream)] + 1;
  }
  /// Is what `stream` is given from now on behind that record of `other`?
  bool is_behind(plan::Stream stream, plan::Stream other, Records record) const {
    return seen_[static_cast<std::size_t>(stream)][static_cast<std::size_t>(other)] >= record;
  }
  /// Everything given so far is done: the host has waited for it.
  void clear() {
    recorded_.fill({});
    Clock all{};
    for (std::size_t s = 0; s < all.size(); ++s) all[s] = seen_[s][s] + 1;
    seen_.fill(all);
  }

 private:
  static constexpr int kNever = -1;
  using Clock = std::array<Records, plan::kStreams>;
  struct Record {
    int by = kNever;
    Clock seen{};
  };
  std::array<Record, plan::kEvents> recorded_;
  std::array<Clock, plan::kStreams> seen_{};
};

}  // namespace real
