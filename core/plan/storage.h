// core/plan/storage.h -- samples read from files and checkpoints written to them, beside the step or in its way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/shares.h"

namespace plan {

/// Of a checkpoint, in bytes: what one rank writes, and what all ranks of its node do, over one path.
struct CheckpointShare {
  std::int64_t rank = 0, node = 0;
};
/// Of a rank of `stage`: the stages of a node may hold more and less than others.
CheckpointShare checkpoint_share(const Context&, int stage);
/// The same where every rank of a node writes as much.
CheckpointShare even_share(const Context&, std::int64_t bytes);

/// At the begin of a step. The first stage reads a step's samples: those of the next step when they are prefetched, so
/// that nothing waits but the step's end; its own otherwise, so that the next compute operator waits. A checkpoint
/// written beside training has its share here, too.
void begin_storage(const Context&, SegmentBuilder&, int stage, const CheckpointShare&);

/// At the end of a step: the share of a checkpoint that goes to the host, and on to the files when it is not written
/// beside training.
void end_storage(const Context&, SegmentBuilder&, const CheckpointShare&);

/// Bytes of a whole checkpoint that one rank writes: its share of the weights and optimizer states of `held`. Each is
/// written once, by ranks that hold equal parameters in turn.
std::int64_t checkpoint_bytes(const Context&, const Held& held);
std::int64_t checkpoint_bytes(const Context&, const std::vector<Chunk>&);  // of a stage

}  // namespace plan
