// sim/engine/recurrence.h -- pipelines settle into a rhythm, and what a run does again to the picosecond is copied
// instead of run again.
//
// What follows an instant depends on the state at it and on the calls to come. Where a state is the same as an earlier
// one, instants taken as distances from now and calls as distances from the present one, and each program goes on with
// the calls that it made in between, it does what it did in between once more; and again for as long as its calls
// repeat. Nothing is estimated: states are compared number by number.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/machine.h"

namespace sim {

/// Of one island at a time, while its instances meet nobody on others: what these do has no say in it then.
/// REQUIRES: no carrier's clock, no drawn times.
class Recurrence {
 public:
  /// Goes to another island: to its machines, and to the meetings that only these have. `completed`: operators of the
  /// whole run so far. Not the first time it waits until so much was run there as a snapshot takes to write.
  void enter(std::span<machine::Machine> machines, std::span<const machine::Meeting* const> meetings,
             std::int64_t completed);
  /// What was seen until now does not tell what follows: an instance met one of another island.
  void forget();

  /// Looks for an earlier state like this one; where there is one, copies into the output what repeats, sets the state
  /// and `now` to what comes after, and says so. To be asked between two events, each time the first instance has
  /// begun another call, while no meeting waits for other islands.
  bool leap(Ticks& now, EngineOutput&);

 private:
  /// Where a machine was.
  struct Place {
    std::int32_t call = 0;
    std::array<std::int32_t, machine::kStreams> completed{};
    std::array<std::size_t, machine::kStreams> spans{};
  };
  struct Snapshot {
    bool taken = false;
    Ticks at = 0;
    std::int64_t completed = 0;
    std::vector<Place> places;        // of each machine
    std::vector<std::int64_t> state;  // all that what follows depends on
  };

  bool same(const Snapshot&, Ticks now) const;
  void take(Snapshot&, Ticks now, const EngineOutput&) const;
  std::int32_t repetitions(const Snapshot&) const;
  void copy(const Snapshot&, std::int32_t times, Ticks later);

  std::span<machine::Machine> machines_;
  std::span<const machine::Meeting* const> meetings_;
  bool entered_ = false;
  std::int64_t looks_ = 0, due_ = 1;     // due: the look at which the next snapshot is taken
  std::int64_t rested_ = 0;              // so many operators have to have completed by then
  std::array<Snapshot, 4> snapshots_{};  // the latest ones
  std::size_t next_ = 0;                 // that is taken anew
};

}  // namespace sim
