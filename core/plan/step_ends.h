// core/plan/step_ends.h -- the begin and the end of a step: gradients zeroed; gradients that were not reduced on the
// way, tied embeddings, gradient norm and clipping, the optimizer, parameters gathered.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/shares.h"

namespace plan {

/// Kernels of one pass of the optimizer over all parameters.
int update_launches(const Context&);
/// The optimizer's kernels over the parameters whose states this rank holds.
void update_parameters(const Context&, SegmentBuilder&, std::int64_t owned);

/// The all-reduce behind the gradient norm of each rank.
void reduce_gradient_norm(const Context&, SegmentBuilder&);

/// Whether a step ends with the all-gather of the parameters that it has updated.
bool gathers_at_end(const Context&);
void begin_step(const Context&, SegmentBuilder&, std::int64_t stage_parameters);
void end_step(const Context&, SegmentBuilder&, const std::vector<Chunk>& chunks, int stage);

}  // namespace plan
