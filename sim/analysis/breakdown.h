// sim/analysis/breakdown.h -- where a rank's time went, read off the Trace: every picosecond of the compute stream is
// either an operator or has a cause. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "core/trace/trace.h"
#include "sim/engine/engine.h"

namespace sim {

enum class Share {
  compute,
  exposed_tp,
  exposed_cp,
  exposed_ep,
  exposed_pp,
  exposed_dp,
  bubble,
  optimizer,
  offload,
  host,
  storage
};
inline constexpr int kShares = 11;
inline constexpr std::array<std::string_view, kShares> kShareNames{
    "compute", "exposed_tp", "exposed_cp", "exposed_ep", "exposed_pp", "exposed_dp",
    "bubble",  "optimizer",  "offload",    "host",       "storage"};

/// The share that an exposed operator of such a channel (trace::Trace::channels) adds to.
Share share_of_channel(std::string_view name);

using Breakdown = std::array<trace::Ticks, kShares>;

struct WaitsAndShares {
  Breakdown shares{};
  trace::Ticks waits = 0;  // of all shares: for ranks that had not arrived, or were not as far
};

/// Of the rank whose tracks begin at trace.tracks[first]; the shares add up to trace.length. Communication is exposed
/// while the compute stream has nothing else to do but wait for it, and while another rank of the stage has not
/// arrived at it (only ranks that run by themselves wait so); waiting for another stage is bubble.
WaitsAndShares waits_and_shares(const trace::Trace&, std::size_t first);
/// The same; time in which the host stood still, its launch queue full or itself waiting, is that of what it stood
/// still for. REQUIRES: the trace is of that input.
WaitsAndShares waits_and_shares(const trace::Trace&, const EngineInput&, std::size_t first);

inline Breakdown breakdown(const trace::Trace& trace, std::size_t first) {
  return waits_and_shares(trace, first).shares;
}

}  // namespace sim
