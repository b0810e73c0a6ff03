// real/measure/event_board.h -- which of a Plan's waits a device has to be told of.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "core/plan/plan.h"

namespace real {

/// An event stands for its latest record; one that was never recorded holds nobody up, and neither does one of the
/// waiting stream itself, which is in order anyway.
class EventBoard {
 public:
  void record(plan::EventId event, plan::Stream by) {
    recorded_[static_cast<std::size_t>(event)] = static_cast<int>(by);
  }
  bool must_wait(plan::Stream stream, plan::EventId event) const {
    if (event < 0) return false;
    const int by = recorded_[static_cast<std::size_t>(event)];
    return by != kNever && by != static_cast<int>(stream);
  }
  /// Everything recorded so far is done: the host has waited for it.
  void clear() { recorded_.fill(kNever); }

 private:
  static constexpr int kNever = -1;
  std::array<int, plan::kEvents> recorded_ = [] {
    std::array<int, plan::kEvents> none{};
    none.fill(kNever);
    return none;
  }();
};

}  // namespace real
