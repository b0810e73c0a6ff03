// sim/network/protocol.cpp -- see protocol.h.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/protocol.h"

#include <algorithm>
#include <cmath>

namespace sim {
namespace {

using Flags = spec::LowLatency spec::PathCurve::*;  // which of the protocols with flags in the data

base::Seconds simple_bytes(const Leg& leg) {
  const spec::PathCurve& c = *leg.curve;
  const base::Bytes filling{std::sqrt(leg.sent.si() * c.ramp.si())};
  return (leg.sent + filling + leg.own * c.local) / (leg.rate * c.efficiency);
}

Streamed together(base::Seconds start, base::Seconds first, base::Seconds second, Protocol by) {
  return {start + std::max(first, second), by, first, second};
}

base::Seconds simple_steps(const Leg& leg) {
  const spec::PathCurve& c = *leg.curve;
  if (!(c.long_hop > base::Seconds())) return c.hop * leg.steps;
  return c.hop * (leg.steps - leg.beyond) + c.long_hop * leg.beyond;
}

Streamed simple(const Leg& first, const Leg& second) {
  const base::Seconds start = first.curve->latency + simple_steps(first);
  if (!second.curve) return together(start, simple_bytes(first), {}, Protocol::simple);
  return together(start + simple_steps(second), simple_bytes(first), simple_bytes(second), Protocol::simple);
}

/// A curve with LL and LL128 fitted as one stands for either.
const spec::LowLatency& of(const Leg& leg, Flags flags) {
  const spec::LowLatency& apart = leg.curve->*flags;
  return apart.efficiency > 0 ? apart : leg.curve->low_latency;
}

bool offered(const Leg& leg, Flags flags) { return !leg.curve || of(leg, flags).efficiency > 0; }
bool apart(const Leg& leg) { return leg.curve && leg.curve->ll128.efficiency > 0; }

base::Seconds flagged_bytes(const Leg& leg, Flags flags) {
  return (leg.sent + leg.own * leg.curve->local) / (leg.rate * of(leg, flags).efficiency);
}

Streamed flagged(const Leg& first, const Leg& second, Flags flags, Protocol by) {
  const spec::LowLatency& p = of(first, flags);
  const base::Seconds start = p.latency + p.hop * first.steps;
  if (!second.curve) return together(start, flagged_bytes(first, flags), {}, by);
  return together(start + of(second, flags).hop * second.steps, flagged_bytes(first, flags),
                  flagged_bytes(second, flags), by);
}

}  // namespace

std::string_view name(Protocol protocol) {
  constexpr std::string_view names[] = {"none", "LL or LL128", "LL", "LL128", "Simple"};
  return names[static_cast<int>(protocol)];
}

Streamed streamed(const Leg& first, const Leg& second) {
  Streamed best = simple(first, second);
  const auto consider = [&](Flags flags, Protocol protocol) {
    if (!offered(first, flags) || !offered(second, flags)) return;
    if (const Streamed by = flagged(first, second, flags, protocol); by.time < best.time) best = by;
  };
  const bool two = apart(first) || apart(second);
  consider(&spec::PathCurve::low_latency, two ? Protocol::ll : Protocol::low_latency);
  if (two) consider(&spec::PathCurve::ll128, Protocol::ll128);
  return best;
}

}  // namespace sim
