// sim/engine/machine.h -- the engine's state of one rank: a host that issues, streams with their queues, events; and
// where ranks meet.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/engine/sharing.h"
#include "sim/engine/tournament.h"

namespace sim::machine {

inline constexpr int kStreams = plan::kStreams;
inline constexpr int kStreamBits = 4;  // of a stream's number
static_assert(kStreams <= 1 << kStreamBits);
inline constexpr std::int64_t kNever = Tournament::kNever;

// What happens next to a stream is one number, instant and stream, so that the least of them says both; the lower
// stream of equals comes first.
static_assert(kHorizon - 1 <= kNever >> kStreamBits);
inline std::int64_t event_at(Ticks instant, int stream) { return instant << kStreamBits | stream; }
inline Ticks instant_of(std::int64_t event) { return event >> kStreamBits; }
inline int stream_of(std::int64_t event) { return static_cast<int>(event & ((1 << kStreamBits) - 1)); }

inline constexpr std::int32_t kNobody = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int8_t kNothing = -1, kHost = -2;  // Span::waited_for, besides streams

/// starting, leaving: its meeting told when it begins or is over; carried: only its flows are under way (carrier.h).
enum class State : std::uint8_t { idle, blocked, unissued, meeting, starting, running, carried, parting, leaving };

/// An issued operator in its stream's queue: one cache line with all that running it needs.
struct alignas(64) Entry {
  Ticks issued, duration;
  std::int32_t step, call;
  std::int16_t next;  // behind it in the stream; -1: none
  std::int16_t channel;
  std::uint16_t operators;  // that it stands for
  std::uint8_t resources;
  bool synchronizes;
  std::int8_t waits;                                   // how many of the following
  std::array<std::int8_t, plan::kMaxWaits> stream;     // of this stream ...
  std::array<std::int32_t, plan::kMaxWaits> sequence;  // ... that operator
};

struct alignas(64) StreamState {
  Ticks ready = 0, start = 0;
  Progress progress;                  // of what runs
  std::int16_t head = -1, tail = -1;  // entries; -1: none
  std::int32_t issued = 0, completed = 0;
  std::int32_t meeting = -1;    // where its head meets others
  std::int32_t wake = kNobody;  // when so many have completed, the first waiter goes on
  std::uint16_t waiters = 0;    // streams whose head is blocked on this one, as bits
  State state = State::idle;
  std::int8_t cause = kNothing;
};

static_assert(sizeof(StreamState) == 64);

/// Entries of a rank. Not a power of two: ranks that do the same would meet in the same few lines of a cache.
inline constexpr int kEntries = kLaunchQueue + 13;

/// The operator that recorded an event.
struct Recorded {
  std::int32_t sequence = -1;
  std::int8_t stream = -1;
};

struct Machine {
  std::array<std::int64_t, kStreams> next;  // event_at() which something happens to each stream's head
  std::array<StreamState, kStreams> streams;
  std::array<Recorded, plan::kEvents> events;
  Holders holders;
  std::uint16_t sharing = 0;  // streams whose running operator holds something, as bits
  std::uint16_t carried = 0;  // streams whose running operator has flows under way, as bits
  bool host_waits = false, full = false;
  bool plain = true;  // kernels take their prices
  bool recorded = true;
  std::int32_t instance = 0, island = 0, seat = 0;
  Ticks host = 0;
  Entry* entries = nullptr;                   // kEntries of them
  const std::int32_t* meeting_of = nullptr;   // by channel
  const Load* loads = nullptr;                // by crossing; null: prices hold
  std::vector<trace::Span>* spans = nullptr;  // by stream
  const std::vector<plan::Call>* program = nullptr;
  const std::int32_t* segments = nullptr;          // the first step of each, and the end
  std::int32_t call = -1, step = 0, step_end = 0;  // next to issue
  std::int16_t free = -1, fresh = 0;               // entries: first of those given back, first of those never used
  std::int32_t outstanding = 0;                    // operators
  Reach reach;

  std::uint64_t samples = 0;  // of jitter
};

struct Member {
  Machine* machine;
  int stream;
};

/// Where the members of a collective come together, and end it together.
struct Meeting {
  std::int32_t size = 0, arrived = 0, ended = 0;
  bool abroad = false;  // its members are on several islands
  Ticks latest = 0;     // that any of them arrived or ended
  std::vector<Member> members;
};

/// Without branches, for none could be foreseen.
inline std::int64_t next_event(const Machine& m) {
  std::int64_t first = m.next[0];
  for (int s = 1; s < kStreams; ++s) first = m.next[s] < first ? m.next[s] : first;
  return first;
}

}  // namespace sim::machine
