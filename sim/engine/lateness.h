// sim/engine/lateness.h -- what a collective waits for the latest of its ranks, whose kernels vary from run to run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/plan/plan.h"
#include "sim/engine/engine.h"

namespace sim {

/// Makes each collective of n ranks longer by
///   jitter E(n) sqrt(sum of d^2)
/// d: durations of the kernels launched since the latest collective of its stream; E(n): expected maximum of n standard
/// normals. Kernels vary independently, by `jitter` of their duration, and one that is late by then is late for all: the
/// others wait in the collective, as a profiler shows. Where a segment is called from different places its first
/// collectives get the mean over the calls. `steps`: of all the plan's segments, one behind the other.
/// Leaves out: transfers between stages, whose microbatches queue up; boards that are always slower (sim/cost/power.h);
/// that the latest of one group may be late in the next, too.
void wait_for_the_latest(const plan::Plan&, double jitter, std::span<Step> steps);

}  // namespace sim
