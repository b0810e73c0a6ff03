// sim/search/rehearsal.h -- a few passes of one stage run on the engine by themselves, to learn how long each takes:
// the lower of a search's two levels. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan.h"
#include "core/spec/job.h"
#include "sim/pricing/prices.h"

namespace sim {

/// A time in which the same resources are held (engine.h).
struct Stretch {
  double end = 0;  // seconds since the call before was done
  std::uint8_t held = 0;
};

/// What one call does when, in seconds since the call before was done.
struct Course {
  std::vector<Stretch> stretches;  // of its own operators, without those of the streams dp and send_next
  std::vector<double> kernels;     // ends of all in order
};

/// Seconds from the step's begin.
struct Rehearsal {
  std::vector<double> begin;                           // of each call's first kernel
  std::vector<double> done;                            // end of its last, or of its last tensor-parallel collective
  double end = 0;                                      // of the last operator
  std::vector<Course> courses;                         // of each call
  std::vector<double> kernels, tp, cp, ep, dp, sends;  // of each call, on the streams of these names
  std::vector<double> squares;                         // of each call: of its kernels' times alone, in seconds^2
  std::vector<double> issue;                           // of each call: the host's work, in seconds
};

struct RehearsalOptions {
  bool courses = false;
  bool at_once = false;  // the host takes no time
};

/// Calls the plan's segments in this order on `stage`, without what they exchange with other stages (transfers on a
/// channel); what waits for that waits for nothing.
Rehearsal rehearse(plan::Plan, int stage, const std::vector<std::int32_t>& segments, const spec::Job&, PriceList&,
                   RehearsalOptions = {});

}  // namespace sim
