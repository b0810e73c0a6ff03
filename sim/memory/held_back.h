// sim/memory/held_back.h -- memory that PyTorch's caching allocator has, nothing lives in, and no request gets until it
// would otherwise run out: it counts as reserved and never keeps a job from fitting.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/plan.h"
#include "core/spec/job.h"
#include "sim/memory/ledger.h"

namespace sim {

/// Bytes of a forward pass that were gathered beside its matmuls. ProcessGroupNCCL records them on its own stream, so
/// a block that is freed waits until the device has passed the collective, and a host that is ahead by the whole pass
/// gets new ones. 0 where the host waits for the device: at exchanges between stages, at each unit of zero 3.
/// Source: pytorch/pytorch pull request 76861 (2022); pytorch/torchtitan docs/composability.md (2024).
/// Leaves out: a host that is not ahead (small microbatches), or ahead into the backward pass.
std::int64_t awaiting_device(const plan::Plan&, const plan::Role&, const spec::Job&);

/// Bytes of what is made in one piece behind activations: the dense gradient of an embedding's table, and where the
/// framework works on flat tensors a bucket of gradients and the optimizer's workspace. Activations, freed by then,
/// left segments of their own size each, and these are not joined. 0 where the step itself is the peak, which counts
/// its own. Source: c10/cuda/CUDACachingAllocator.cpp, without expandable_segments; DeepSpeed, stage_1_and_2.py,
/// allreduce_and_copy() and step().
std::int64_t behind_activations(const plan::Plan&, const plan::Role&, const spec::Job&, const MemoryPeak&);

/// Bytes that a layer's forward pass had for itself where the loss is the peak and a tensor of logits is larger than
/// any of the layer's: freed by then, they are too narrow for it. Source: as above.
std::int64_t too_narrow_for_logits(const plan::Plan&, const plan::Role&, const spec::Job&, const MemoryPeak&);

}  // namespace sim
