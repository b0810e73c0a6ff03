// core/plan/context.h -- the sizes that lowering asks for again and again, worked out once from a Job. Token counts are
// of one microbatch, widths are of one tensor-parallel rank. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/plan/axes.h"
#include "core/plan/work.h"
#include "core/spec/job.h"

namespace plan {

struct Context {
  explicit Context(const spec::Job&);

  const spec::Job& job;
  const spec::Model& model;
  const spec::Strategy& strategy;

  int tp, dp, pp, vpp;
  bool sp;                       // sequence parallel, and tp > 1
  std::int64_t microbatches;     // of one replica in a step
  std::int64_t batch, sequence;  // of one microbatch
  std::int64_t tokens;           // batch x sequence
  std::int64_t shard_tokens;  // tokens that norms, dropouts and residual adds see: tokens / tp under sequence parallel
  std::int64_t hidden;
  int heads, kv_heads, head_dim;  // of one rank; K and V heads are replicated when there are fewer than ranks
  std::int64_t q_width, kv_width, qkv_width, ffn, up_width;
  std::int64_t vocab;             // rows of the embedding on one rank, padded to a multiple of tp
  spec::Dtype dtype;              // matmuls
  spec::Dtype storage;            // activations and weights in memory
  std::int64_t element;           // bytes of it
  std::int64_t gradient_element;  // bytes of a main gradient
  bool dropout;
  bool fused_norm, fused_rope, fused_activation, fused_softmax, fused_loss, fused_accumulation;
  bool separate_gradients;  // weight gradients leave the matmul in `storage` and are added to the main gradient
  spec::AttentionKernel attention;
  spec::TpOverlap tp_overlap;
  bool overlap_grad_reduce, overlap_param_gather, overlap_p2p;
  Axes axes;                                  // of the ranks of one stage
  std::array<GroupShape, kAxes> axis_groups;  // where the members of each axis sit
  const GroupShape& group(Axis axis) const { return axis_groups[static_cast<int>(axis)]; }
  bool serves, decodes;     // no backward; one new token a sequence, so that `sequence` is 1
  std::int64_t context;     // tokens that the last query of a sequence attends to
  std::int64_t kv_element;  // bytes of a number in the KV cache
  GroupShape tp_group, dp_group, embedding_group;
  GroupShape model_group;   // ranks whose gradient norms add up
  Transfer stage_transfer;  // activations between neighbouring stages, from each tensor-parallel rank
  bool scatter_gather;      // a rank sends 1/tp of the activations, an all-gather behind restores them

  /// Whether any parameter of a stage has copies on other ranks.
  bool replicated() const { return axes[Axis::dp].size > 1 || (model.moe && axes[Axis::expert_dp].size > 1); }
  bool fused_attention() const {
    return attention != spec::AttentionKernel::unfused && attention != spec::AttentionKernel::fused_softmax;
  }
};

}  // namespace plan
