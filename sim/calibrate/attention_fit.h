// sim/calibrate/attention_fit.h -- attention curves from measured passes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/calibrate/measured_row.h"

namespace sim {

/// Longer sequences are left out of fits: few jobs train on them, and caches and clocks change what they cost.
inline constexpr std::int64_t kLongestFitted = 40'000;
/// With fewer heads than these a kernel leaves most SMs idle, which the price takes from a bound, not from the curve.
inline constexpr int kFewestHeads = 8;

/// Draws the curve of a kernel to rows of it: the pace of both passes and, as far as rows differ in them, ramp, mask
/// and head widths. Where the backward pass is not measured it keeps its ratio to the forward pass. MeasuredRows of 8
/// bits draw `low_precision` alone. Returns the host's time in one pass, for rows that name no kernel: those were timed
/// through a framework. REQUIRES: at least 5 rows, all of one kernel.
base::Seconds fit_attention(Device&, spec::AttentionKernel, const MeasuredRows&);

}  // namespace sim
