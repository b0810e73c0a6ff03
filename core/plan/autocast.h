// core/plan/autocast.h -- what torch.autocast adds: weights are in fp32 and cast in each pass, whose casts serve all of
// its uses; norms, their gradients and the residual stream are in fp32, and each linear layer casts what it reads and
// its gradient back. A graph compiler makes the casts of activations part of the kernels beside them. PyTorch,
// aten/src/ATen/autocast_mode.{h,cpp} (2.0 to 2.9). Without autocast every function gives what there is anyway.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/elementwise.h"
#include "core/spec/job.h"

namespace plan {

struct Linear;

/// A norm of the residual stream.
Chain stream_norm_forward(const Context&, std::int64_t tokens);
Chain stream_norm_backward(const Context&, std::int64_t tokens);

/// Bytes a number of the stream that a norm's backward reads.
std::int64_t kept_by_stream_norm(const Context&);

/// Tensors in 16 bits that linear layers keep of one normed input.
int casts_of_input(const Context&, const Linear&);

/// Writes the cast of a weight (and of a bias, whose bytes do not count), in a forward pass or when it runs again.
void cast_weight(const Context&, SegmentBuilder&, const Linear&);
/// Writes the casts of a normed input of `elements` numbers, one for each of the layer's matmuls.
void cast_input(const Context&, SegmentBuilder&, const Linear&, std::int64_t elements);
/// Writes the casts of its gradients to fp32.
void cast_input_gradient(const Context&, SegmentBuilder&, const Linear&, std::int64_t elements);

/// Bytes of the casts of a block's weights. Autograd keeps them for the block's backward, autocast's cache until the
/// forward ends (torch/amp/autocast_mode.py, __exit__, 2.0 to 2.9), hence none is there beside the optimizer.
std::int64_t block_casts(const Context&, spec::LayerParts);
/// Of these, what a recomputation casts again: nobody keeps it from the forward's end until then.
std::int64_t recast_in_block(const Context&, spec::Recompute::Kind, spec::LayerParts);

/// The same of the output head, whose table serves as an embedding uncast, and of multi-token prediction's projections.
std::int64_t head_casts(const Context&);
/// Of these, what the forward alone reads: the table, where the loss goes by chunks.
std::int64_t unkept_head_casts(const Context&);

}  // namespace plan
