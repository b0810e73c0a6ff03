// sim/engine/lateness.h -- what a collective waits for the latest of its ranks, whose kernels vary from run to run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/engine.h"

namespace sim {

inline bool is_kernel(const Step& step) { return (step.resources & resource::kCompute) != 0; }

/// What a collective of n ranks waits, in the unit of kernels' durations d whose squares add up to `squares`:
///   jitter E(n) sqrt(sum of d^2)
/// d: of the kernels launched since the latest collective of its stream; E(n): expected maximum of n standard normals.
/// Kernels vary independently, by `jitter` of their duration, and one that is late by then is late for all: the others
/// wait in the collective, as a profiler shows.
double expected_lateness(double jitter, int ranks, double squares);

/// Sets what each collective waits (Step::wait), from the durations of kernels as they are now and their
/// `kernel_jitter`; of two ranks, where each waits for a neighbour alone.
/// Where a segment is called from different places its first collectives get the mean over the calls, those of all
/// roles. Leaves out: transfers between stages, whose microbatches queue up; boards that are always slower
/// (sim/cost/power.h); that the latest of one group may be late in the next, too.
void wait_for_the_latest(EngineInput&);

}  // namespace sim
