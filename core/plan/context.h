// core/plan/context.h -- the sizes that lowering asks for again and again, worked out once from a Job. Token counts are
// of one microbatch on one context-parallel rank (but `sequence` is whole), widths are of one tensor-parallel rank.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/plan/axes.h"
#include "core/plan/work.h"
#include "core/spec/job.h"
#include "core/spec/placement.h"

namespace plan {

struct Context {
  explicit Context(const spec::Job&);

  const spec::Job& job;
  const spec::Model& model;
  const spec::Strategy& strategy;

  int tp, dp, pp, vpp;
  int cp;
  bool zigzag;                   // context-parallel ranks hold a chunk of the front and one of the back
  bool sp;                       // sequence parallel, and tp > 1
  std::int64_t microbatches;     // of one replica in a step
  std::int64_t batch, sequence;  // of one microbatch
  std::int64_t tokens;           // batch x sequence / cp; decoding, every rank has the new ones
  std::int64_t shard_tokens;  // tokens that norms, dropouts and residual adds see: tokens / tp under sequence parallel
  std::int64_t hidden;
  int attention_kv_heads;  // that attention sees: kv_heads, or heads where K and V are copied to every query head
  int heads, kv_heads, head_dim;  // of one rank; K and V heads are replicated when there are fewer than ranks
  std::int64_t q_width, kv_width, ffn, up_width;
  std::int64_t gate_width;  // of attention's output, projected beside the queries; 0: none
  std::int64_t qkv_width;   // the gate included
  bool gathers_qkv;  // tensor-parallel ranks share heads of K and V and gather all that their product has cut evenly
  std::int64_t qkv_product;       // what a rank's product makes: qkv_width but where they gather
  int value_head_dim;             // differs from head_dim under latent attention
  std::int64_t document;          // tokens of a packed sequence's documents; 0: a sequence is one
  std::int64_t chunk;             // the same in layers that attend in chunks
  std::int64_t context_width;     // attention output of a rank: heads x value_head_dim
  std::int64_t vocab;             // rows of the embedding on one rank, padded to a multiple of the ranks that share it
  bool spread_vocab;              // which are those of all stages (vocabulary.h)
  spec::Dtype dtype;              // matmuls
  spec::Dtype storage;            // activations and weights in memory
  spec::Dtype operand;            // what tensor cores take of it (tf32 of fp32), where nothing narrower is
  std::int64_t element;           // bytes of it
  bool autocast;                  // training.autocast
  std::int64_t stream;            // bytes of a number of the residual stream
  std::int64_t gradient_element;  // bytes of a main gradient
  bool dropout;
  bool fused_norm, fused_rope, fused_activation, fused_softmax, fused_loss, fused_accumulation, fused_permute,
      fused_experts;
  bool chunked_loss;        // strategy.linear_cross_entropy
  bool separate_gradients;  // weight gradients leave the matmul in `storage` and are added to the main gradient
  spec::AttentionKernel attention;
  spec::TpOverlap tp_overlap;
  bool overlap_grad_reduce, overlap_param_gather, overlap_p2p;
  bool overlap_shared_expert;
  Axes axes;                                  // of the ranks of one stage
  std::array<GroupShape, kAxes> axis_groups;  // where the members of each axis sit
  const GroupShape& group(Axis axis) const { return axis_groups[static_cast<int>(axis)]; }
  bool serves, decodes;     // no backward; one new token a sequence, so that `sequence` is 1
  std::int64_t context;     // tokens that the last query of a sequence attends to
  std::int64_t kv_element;  // bytes of a number in the KV cache
  GroupShape tp_group, dp_group, embedding_group;
  GroupShape stages_group;  // a rank of every stage
  GroupShape model_group;   // ranks whose gradient norms add up
  Transfer stage_transfer;  // activations between neighbouring stages, from each tensor-parallel rank, the slowest hop
  /// The same between two stages, which may lie in one node where others do not.
  Transfer transfer_between(int from, int to) const;
  spec::Placement placement;  // of the model's chunks on stages
  bool barrier;               // the optimizer of any stage waits for the gradients of all
  bool rolling;               // no stage waits for the others between two steps
  bool scatter_gather;        // a rank sends 1/tp of the activations, an all-gather behind restores them

  Axis shard_axis;          // ranks that share one copy of the dense states: dp, or shard inside its groups
  Axis expert_shard_axis;   // the same of the experts' states
  bool scatters_gradients;  // zero 2 and 3: a rank keeps its share of the gradients alone
  bool fully_sharded;       // zero 3: and of the parameters
  bool sums_replicas_last;  // HSDP: shards of gradients are summed across their groups in the last microbatch alone

  /// Whether the feed-forward of this layer (of the model, from 0) is one of experts.
  bool experts_in(int layer) const { return model.moe && layer >= 0 && model.experts_in(layer); }
  /// Whether any parameter of a stage has copies on other ranks.
  bool replicated() const { return axes[Axis::dp].size > 1 || (model.moe && axes[Axis::expert_dp].size > 1); }
  bool fused_attention() const { return !writes_scores(attention); }

 private:
  // The constructor's parts; each reads what those before it have set.
  void set_degrees_and_batch();
  void set_widths();
  void set_precision();
  void set_kernels();
  void set_overlap();
  void set_groups();
  void set_sharding();
};

}  // namespace plan
