// core/plan/overlap.h -- the forward of one microbatch and the backward of another as one segment, so that the kernels
// of each run beside the communication of the other. The order of a layer is that of DeepSeek-V3 (arXiv 2412.19437,
// fig. 4) and of Megatron-Core (overlap_moe_expert_parallel_comm):
//
//   tokens    combine B      dispatch F    dispatch B                              combine F
//   kernels   attention F    experts B     weight gradients of experts, experts F  attention B, its weight gradients
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/plan.h"

namespace plan {

/// Takes turns, backward first: a half is issued until it would wait for an exchange with experts of this turn (where
/// neither half has one, for a collective) or has sent to another stage, then the other one. Within a half, order and
/// waits stay; no half waits for the other but where streams are FIFO or a communicator has two streams.
Segment overlap(const Segment& forward, const Segment& backward);

}  // namespace plan
