// core/plan/overlap.h -- the forward of one microbatch and the backward of another as one segment, so that the kernels
// of each run beside the communication of the other (DeepSeek-V3, arXiv 2412.19437, fig. 4).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/plan.h"

namespace plan {

/// Takes turns: a half is issued up to and including its next collective, then the other one. Within a half, order and
/// waits stay; no half waits for the other but where streams are FIFO.
Segment overlap(const Segment& forward, const Segment& backward);

}  // namespace plan
