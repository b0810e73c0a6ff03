// sim/network/protocol.cpp -- see protocol.h.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/protocol.h"

#include <algorithm>
#include <cmath>

namespace sim {
namespace {

base::Seconds simple_bytes(const Leg& leg) {
  const spec::PathCurve& c = *leg.curve;
  const base::Bytes filling{std::sqrt(leg.sent.si() * c.ramp.si())};
  return (leg.sent + filling + leg.own * c.local) / (leg.rate * c.efficiency);
}

base::Seconds low_latency_bytes(const Leg& leg) {
  return (leg.sent + leg.own * leg.curve->local) / (leg.rate * leg.curve->low_latency.efficiency);
}

}  // namespace

base::Seconds streamed(const Leg& first, const Leg& second) {
  const bool both = second.curve != nullptr;
  base::Seconds simple = first.curve->latency + first.curve->hop * first.steps;
  base::Seconds bytes = simple_bytes(first);
  if (both) {
    simple += second.curve->hop * second.steps;
    bytes = std::max(bytes, simple_bytes(second));
  }
  simple += bytes;
  if (first.curve->low_latency.efficiency <= 0 || (both && second.curve->low_latency.efficiency <= 0)) return simple;

  const spec::LowLatency& ll = first.curve->low_latency;
  base::Seconds low = ll.latency + ll.hop * first.steps;
  bytes = low_latency_bytes(first);
  if (both) {
    low += second.curve->low_latency.hop * second.steps;
    bytes = std::max(bytes, low_latency_bytes(second));
  }
  return std::min(simple, low + bytes);
}

}  // namespace sim
