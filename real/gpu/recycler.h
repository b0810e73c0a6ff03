// real/gpu/recycler.h -- memory that other streams than its own may still use when its last tensor goes. It is given
// back once its own stream, by the Plan's waits, is behind them, or once they are past the point that they had reached
// then: no stream waits for another because of it. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "core/base/fault.h"
#include "core/plan/plan.h"
#include "real/cuda/pool.h"
#include "real/executor/tensor.h"
#include "real/gpu/streams.h"
#include "real/measure/event_board.h"

namespace real {

/// The points that streams had reached when they were given their last work on a buffer.
struct Past {
  std::vector<Event> until;
  bool known = true;

  /// `used` has a bit for each stream; `fresh()` makes an event. Called by destructors: on a GPU that has failed nobody
  /// knows when they are past it.
  template <class Fresh>
  void record(const Streams& streams, std::uint32_t used, Fresh fresh) noexcept {
    for (std::size_t s = 0; s < streams.size(); ++s) {
      if ((used >> s & 1u) == 0) continue;
      try {
        until.push_back(fresh());
        until.back().record(streams[s]);
      } catch (const base::DeviceError&) {
        known = false;
      }
    }
  }
  bool over() const {
    const auto happened = [](const Event& event) { return cudaEventQuery(event.get()) == cudaSuccess; };
    return known && std::ranges::all_of(until, happened);
  }
};

/// Streams besides a buffer's own that were given work on it, and the record of each that will be behind the last.
struct Uses {
  std::uint32_t streams = 0;  // a bit for each
  std::array<EventBoard::Records, plan::kStreams> until{};

  void add(plan::Stream stream, EventBoard::Records record) {
    streams |= 1u << static_cast<unsigned>(stream);
    until[static_cast<std::size_t>(stream)] = record;
  }
};

class Recycler {
 public:
  Recycler(const Streams& streams, const EventBoard& board) : streams_(streams), board_(board) {}

  /// On a GPU that has failed it stays until clear().
  void put(DeviceBuffer buffer, plan::Stream home, const Uses& uses) noexcept;
  /// Gives back what can be given back now.
  void poll();
  /// Gives back what was put first of all that waits, when `until(event)` has waited for its uses. False: none does.
  template <class Until>
  bool wait_for_oldest(Until until);
  /// Everything is done: gives back all.
  void clear();
  /// While a step is captured nothing is asked of events: what is put stays until clear().
  void hold(bool on) { holds_ = on; }

 private:
  struct Waiting {
    DeviceBuffer buffer;
    Uses uses;
    Past past;
    std::uint64_t number = 0;  // of all that was put
  };
  /// Of one home and one set of users: who was put first can go first, so that nobody else is asked.
  using Line = std::deque<Waiting>;

  bool is_behind(plan::Stream home, const Uses& uses) const;
  void let_go_first(Line& line);
  Event fresh();

  const Streams& streams_;
  const EventBoard& board_;
  bool holds_ = false;
  std::map<std::pair<plan::Stream, std::uint32_t>, Line> waiting_;
  std::uint64_t put_ = 0;
  std::vector<Event> spare_;
};

template <class Until>
bool Recycler::wait_for_oldest(Until until) {
  Line* oldest = nullptr;
  for (auto& [key, line] : waiting_) {
    if (line.empty() || !line.front().past.known) continue;
    if (oldest == nullptr || line.front().number < oldest->front().number) oldest = &line;
  }
  if (holds_ || oldest == nullptr) return false;
  for (const Event& event : oldest->front().past.until) until(event);
  let_go_first(*oldest);
  return true;
}

/// Numbers on the GPU. Outlived by its recycler.
struct DeviceMemory final : Storage {
  DeviceMemory(DeviceBuffer b, plan::Stream of, Recycler& to) : buffer(std::move(b)), home(of), recycler(to) {}
  ~DeviceMemory() override {
    if (uses.streams != 0) recycler.put(std::move(buffer), home, uses);
  }
  DeviceBuffer buffer;
  plan::Stream home;
  Uses uses;
  Recycler& recycler;
};

}  // namespace real
