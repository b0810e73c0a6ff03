// sim/engine/carrier.h -- a network that runs beside the engine, on a clock of its own that the engine keeps to: flows
// of different operators that meet on a link share it while they overlap.
//
// An operator with a load runs twice at once: its duration passes in the engine, where other operators of its rank may
// stretch it, and its flows pass in the network. It ends when both have ended, the flows' `tail` (latency) included.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "core/trace/trace.h"

namespace sim {

/// What an operator puts on the network: all flows of a set the carrier knows, `bytes` times their volumes.
struct Load {
  std::int32_t set = -1;  // -1: nothing
  double bytes = 0;
  trace::Ticks tail = 0;  // after the last flow, before the operator may end
};

/// Starts a load now; its ticket tells it from others under way.
using Ship = std::function<void(const Load&, std::int32_t ticket)>;

/// Who runs on a carrier's clock. Each call answers when the next one is wanted: kNoInstant for never.
class Rider {
 public:
  static constexpr trace::Ticks kNoInstant = -1;
  virtual ~Rider() = default;
  /// At instant 0.
  virtual trace::Ticks begin(Ship) = 0;
  /// At the instant it asked for.
  virtual trace::Ticks resume(trace::Ticks now) = 0;
  /// The last flow of a load has ended. `now` may lie a rounding behind the instant it asked for.
  virtual trace::Ticks delivered(trace::Ticks now, std::int32_t ticket) = 0;
};

class Carrier {
 public:
  virtual ~Carrier() = default;
  /// Until no load is under way and the rider wants no other call. Several threads may call it, and wait for one
  /// another.
  virtual void run(Rider&) const = 0;
};

}  // namespace sim
