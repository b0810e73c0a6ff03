// sim/network/protocol.h -- NCCL's protocols over one path or two that work in step: the formula of closed_form.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/units.h"
#include "core/spec/network_calibration.h"

namespace sim {

/// One kind of link that an algorithm crosses. `rate` is the data sheet's with decay and contention, without
/// efficiency.
struct Leg {
  const spec::PathCurve* curve = nullptr;
  base::ByteRate rate;
  double steps = 0;  // one after another, on this kind of link
  base::Bytes sent;  // on this kind of link, by one rank (or by all that share `rate`)
  base::Bytes own;   // stays where it is, copied
};

/// Time of an algorithm whose legs stream at the same time: the slowest leg's bytes, every leg's steps, the start-up of
/// the first leg. Simple or low-latency protocol, whichever is faster (low latency only when all legs offer it).
/// REQUIRES: `first` has a curve; `second` may have none.
base::Seconds streamed(const Leg& first, const Leg& second = {});

}  // namespace sim
