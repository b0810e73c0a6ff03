// sim/network/simgrid_ride.h -- part of the module simgrid.cpp: a rider on SimGrid's clock. Its next instant is a
// timer, its loads are flows, and what it does at either may start more of them. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/network/cargo.h"
#include "sim/network/simgrid_pool.h"

namespace sim {

class Ride {
 public:
  Ride(Pool& pool, const Cargo& cargo, Rider& rider) : pool_(pool), cargo_(cargo), rider_(rider) {}

  void run() {
    pool_.lay(cargo_.fluid, kAmount / kUnits);
    start_ = pool_.settle();
    current() = this;
    listen();
    wake(rider_.begin([this](const Load& load, std::int32_t ticket) { ship(load, ticket); }));
    pool_.run();
    current() = nullptr;
  }

 private:
  using Timer = simgrid::kernel::timer::Timer;
  // SimGrid's second is our millisecond, where instants lie 15 ps apart (Pool::settle), and its byte, which is whole, a
  // thousandth of ours.
  static constexpr double kUnits = 1e3, kAmount = 1e3;
  static constexpr double kTicks = trace::kTicksPerSecond / kUnits;

  void ship(const Load& load, std::int32_t ticket) {
    const auto set = static_cast<std::size_t>(load.set);
    const std::size_t first = cargo_.begin[set], last = cargo_.begin[set + 1];
    left_[ticket] = last - first;
    for (std::size_t f = first; f < last; ++f) {
      s4u::CommPtr comm = pool_.start(f, cargo_.fluid.volumes[f] * load.bytes * kAmount);
      const s4u::Activity* const key = comm.get();
      flows_.emplace(key, std::pair{std::move(comm), ticket});
    }
  }

  void ended(const s4u::Activity& flow) {
    const auto at = flows_.find(&flow);
    const std::int32_t ticket = at->second.second;
    ended_.push_back(std::move(at->second.first));
    flows_.erase(at);
    if (--left_[ticket] > 0) return;
    wake(rider_.delivered(std::llround((s4u::Engine::get_clock() - start_) * kTicks), ticket));
  }

  void wake(trace::Ticks next) {
    if (next == due_) return;
    if (due_ != Rider::kNoInstant) timer_->remove();
    due_ = next;
    if (next == Rider::kNoInstant) return;
    const double date = start_ + static_cast<double>(next) / kTicks;
    timer_ = Timer::set(std::max(date, s4u::Engine::get_clock()), [this] {
      ended_.clear();
      const trace::Ticks now = std::exchange(due_, Rider::kNoInstant);
      wake(rider_.resume(now));
    });
  }

  // SimGrid tells of every activity's end by one signal of the process.
  static Ride*& current() {
    static Ride* ride = nullptr;
    return ride;
  }
  static void listen() {
    static bool listens = false;
    if (std::exchange(listens, true)) return;
    const auto hear = [](const s4u::Activity& flow) {
      if (current() != nullptr) current()->ended(flow);
    };
#if SIMGRID_VERSION >= 33400
    s4u::Comm::on_completion_cb(hear);
#else
    s4u::Activity::on_completion_cb(hear);
#endif
  }

  Pool& pool_;
  const Cargo& cargo_;
  Rider& rider_;
  double start_ = 0;
  trace::Ticks due_ = Rider::kNoInstant;  // what the timer is set to
  Timer* timer_ = nullptr;
  std::unordered_map<const s4u::Activity*, std::pair<s4u::CommPtr, std::int32_t>> flows_;  // and their loads' tickets
  std::unordered_map<std::int32_t, std::size_t> left_;                                     // flows of each load
  std::vector<s4u::CommPtr> ended_;  // since the last timer: 3.32 wants them alive until after their call
};

}  // namespace sim
