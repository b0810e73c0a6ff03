// sim/engine/engine.h -- runs programs as CUDA runs streams: a host issues operators in order, streams are FIFO, events
// gate, a collective starts when its last member arrives and ends when its slowest member ends. Knows no GPU, link or
// model: times come in as picoseconds, and what slows what as shared resources.
//
// Time is an integer. What happens at one instant happens in a fixed order (lower streams, then lower instances first),
// and no result depends on it: the same input gives the same run, folded or not. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "sim/engine/carrier.h"

namespace sim {

using trace::Ticks;

/// Instants stay below 2^59 ps, 6 days: the engine packs them with a stream's number (machine.h).
inline constexpr Ticks kHorizon = Ticks{1} << 59;

/// Operators that a host may be ahead of its device: the depth of CUDA's launch queue.
inline constexpr int kLaunchQueue = 1024;
inline constexpr int kComputeStream = static_cast<int>(plan::Stream::compute);

/// What an operator occupies while it runs. Kernels and communication slow one another; operators on the same link and
/// direction share it evenly.
namespace resource {
inline constexpr std::uint8_t kCompute = 1, kCommunication = 2, kNvlinkOut = 4, kNvlinkIn = 8, kNicOut = 16,
                              kNicIn = 32;
inline constexpr int kCount = 6;
inline constexpr std::uint8_t kLinks = kNvlinkOut | kNvlinkIn | kNicOut | kNicIn;
}  // namespace resource

/// An operator with its price, or a chain of them (chains.h).
struct Step {
  Ticks duration = 0;           // alone
  Ticks wait = 0;               // more, of a collective: for the latest of its ranks (sim/engine/lateness.h)
  Ticks host = 0;               // of the host to issue it, or the first of a chain
  Ticks host_behind = 0;        // of the host to issue operators of a chain before the next step
  std::uint16_t operators = 1;  // that it stands for
  std::int32_t members = 1;     // ranks of its collective, which wait for the latest
  std::int16_t channel = -1;
  std::int16_t crossing = -1;  // which of an instance's loads it puts on the network; -1: none
  std::uint8_t stream = 0;
  std::uint8_t resources = 0;
  bool synchronizes = false;  // the host waits for it before it issues more
  bool hops = false;          // a collective whose ranks wait for one neighbour each
  std::array<plan::EventId, plan::kMaxWaits> waits{-1, -1, -1, -1};
  plan::EventId records = -1;
};

/// One rank, or one role that stands for many.
struct Instance {
  int role = 0, rank = 0;
  int variant = 0;            // of the steps: their prices on its kind of node
  double compute_factor = 1;  // its kernels take this many times as long (a slow rank)
  bool recorded = true;       // its spans are kept
};

struct EngineInput {
  const plan::Plan* plan = nullptr;
  std::vector<Step> steps;                  // variant after variant, of all segments one behind the other
  std::vector<std::int32_t> segment_begin;  // of each variant: first step of each segment, and the end
  // Once chained: the first operator of each step, and how much of its step comes before each operator; empty before.
  std::vector<std::int32_t> first_operator;
  std::vector<Ticks> lead;
  std::vector<Instance> instances;
  std::vector<std::int32_t> meeting_of;    // [instance * channels + channel]: where its members meet; -1: alone
  std::vector<std::int32_t> meeting_size;  // instances that meet there
  std::shared_ptr<const Carrier> carrier;  // null: no operator has a load
  std::vector<Load> loads;                 // [instance * crossings + crossing]
  std::int32_t crossings = 0;
  Ticks host_start = 0;  // before the host issues the first operator
  double compute_slowdown = 1, communication_slowdown = 1;
  // Relative standard deviations of a kernel's time: what collectives wait for (Step::wait), what the run draws.
  double kernel_jitter = 0, sampled_jitter = 0;
  bool folded = true;  // an instance stands for all ranks of its role
  std::uint64_t seed = 1;

  /// The first step of each segment for that variant, and the end.
  const std::int32_t* segments_of(int variant) const {
    return segment_begin.data() + static_cast<std::size_t>(variant) * (plan->segments.size() + 1);
  }
  const Instance& instance_of(int rank) const;  // REQUIRES: there is one
  std::int64_t spans() const;                   // that a run makes whose instances all keep theirs
};

/// When an instance was at work.
struct Reach {
  Ticks begin = 0;  // of its first kernel; 0 without one
  Ticks end = 0;    // of its last operator
};

struct EngineOutput {
  std::vector<std::vector<trace::Span>> spans;  // [instance * streams + stream]
  std::vector<Reach> reach;                     // of each instance, its spans kept or not
  Ticks end = 0;                                // of the last operator
  std::int64_t completed = 0;                   // operators
  std::int64_t copied = 0;                      // of them, those whose spans were copied from an earlier repetition
  bool deadlocked = false;                      // operators were left that nothing could start: a fault of the plan
};

/// Instances whose state, some 16 KiB each, fits into a second-level cache.
inline constexpr int kLargestIsland = 128;

/// Whether what a run does once more is copied (recurrence.h) or run again: the same spans either way.
enum class Repeats : std::uint8_t { copied, run };

/// Instances that meet often are run together, as many as `island` (islands.h): the same run whatever it is.
EngineOutput run(const EngineInput&, int island = kLargestIsland, Repeats = Repeats::copied);

}  // namespace sim
