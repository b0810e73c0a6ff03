// core/plan/storage.h -- samples read from files and checkpoints written to them, beside the step or in its way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/shares.h"

namespace plan {

/// At the begin of a step. The first stage reads a step's samples: those of the next step when they are prefetched, so
/// that nothing waits but the step's end; its own otherwise, so that the next compute operator waits. A checkpoint
/// written beside training has its share here, too.
void begin_storage(const Context&, SegmentBuilder&, int stage, std::int64_t checkpoint);

/// At the end of a step: the share of a checkpoint that goes to the host, and on to the files when it is not written
/// beside training.
void end_storage(const Context&, SegmentBuilder&, std::int64_t checkpoint);

/// Bytes of a whole checkpoint that one rank writes: its share of the weights and optimizer states of `held`. Each is
/// written once, by ranks that hold equal parameters in turn.
std::int64_t checkpoint_bytes(const Context&, const Held& held);

}  // namespace plan
