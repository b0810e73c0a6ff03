// sim/network/protocol.h -- NCCL's protocols over one path or two that work in step: the formula of closed_form.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/units.h"
#include "core/spec/network_calibration.h"

namespace sim {

/// low_latency: a curve that has LL and LL128 fitted as one.
enum class Protocol : std::uint8_t { none, low_latency, ll, ll128, simple };
std::string_view name(Protocol);  // "none" "LL or LL128" "LL" "LL128" "Simple"

/// One kind of link that an algorithm crosses. `rate` is the data sheet's with decay and contention, without
/// efficiency.
struct Leg {
  const spec::PathCurve* curve = nullptr;
  base::ByteRate rate;
  double steps = 0;   // one after another, on this kind of link
  base::Bytes sent;   // on this kind of link, by one rank (or by all that share `rate`)
  base::Bytes own;    // stays where it is, copied
  double beyond = 0;  // of the steps, those of a ring beyond kShortRing ranks
};

struct Streamed {
  base::Seconds time;
  Protocol protocol = Protocol::none;
  base::Seconds first, second;  // of it the bytes of each leg, both at the same time
};

/// An algorithm whose legs stream at the same time: the slowest leg's bytes, every leg's steps, the start-up of the
/// first leg. By the fastest protocol that all legs offer; Simple is offered everywhere.
/// REQUIRES: `first` has a curve; `second` may have none.
Streamed streamed(const Leg& first, const Leg& second = {});

}  // namespace sim
