// core/plan/block.h -- one transformer block (layer) as operators: forward, forward again, backward.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/builder.h"
#include "core/plan/context.h"

namespace plan {

/// What a block's forward leaves in memory for its backward, on one rank and for one microbatch, in bytes. Korthikanti
/// et al. (arXiv 2205.05198), section 4, is its test: s b h (34 + 5 a s/h) without parallelism, unfused attention,
/// dropout.
struct BlockActivations {
  std::int64_t norm_inputs = 0;    // of the norms in front of its branches: the residual stream
  std::int64_t linear_inputs = 0;  // of qkv and the first feed-forward matmul
  std::int64_t qkv = 0;            // queries, keys, values
  std::int64_t scores = 0;         // softmax, its dropout and mask; or the flash kernel's row statistics
  std::int64_t context = 0;        // attention output, input of the projection
  std::int64_t feed_forward = 0;   // input of the activation and of the second matmul, with eager copies
  std::int64_t masks = 0;          // of the residual dropouts
  std::int64_t unread = 0;         // held without need, beside what a layer without recomputation holds (selective_ops)
  std::int64_t experts = 0;        // instead of feed_forward: of a layer of experts (MoeActivations)
  std::int64_t recurrent = 0;      // instead of qkv, scores and context: of a recurrent layer
  std::int64_t total() const {
    return norm_inputs + linear_inputs + qkv + scores + context + feed_forward + masks + unread + experts + recurrent;
  }
};

/// What the forward of a layer keeps under `kind` of recomputation.
/// `narrow`: its matmuls are below 16 bits where the Job's are.
BlockActivations kept_activations(const Context&, spec::Recompute::Kind kind, spec::LayerParts = {},
                                  bool narrow = true);

/// REQUIRES: no part is missing, none recurrent.
BlockActivations kept_by_selective_ops(const Context&, spec::LayerParts);

/// What is left of `all`, which a layer without recomputation keeps, under the job's RecomputeModules.
BlockActivations without_modules(const Context&, spec::LayerParts, BlockActivations all);

/// Whether the `index`-th layer of a stage (in the order of its chunks) is recomputed in full, selectively or not.
spec::Recompute::Kind recompute_of(const Context&, int index_in_stage);

/// Whether recomputation of `layer`, or of its feed-forward as a module, ends in front of its last matmul, all that
/// follows leaving nothing for a backward: non-reentrant checkpoints of PyTorch stop when the last saved tensor is
/// there (torch/utils/checkpoint.py, early_stop, 2.1), and a compiler leaves out what nobody reads. Dropout, a norm
/// behind the branch, adapters and the sum over experts do leave something.
bool stops_recompute(const Context&, int layer);

/// What stays of a recomputed layer behind its backward, until the pass ends: its input and that one's gradient, where
/// Framework::holds_frozen_inputs.
std::int64_t held_of_frozen(const Context&, spec::Recompute::Kind);

class Block {
 public:
  Block(const Context& c, SegmentBuilder& out) : c_(c), out_(out) {}

  /// `windowed`: this layer attends within Model::window or its chunk (Model::limited_in). Takes what it keeps.
  void forward(spec::Recompute::Kind, bool windowed);
  /// With what `kind` computes again in front. Gives back what forward() took, but for held_of_frozen().
  void backward(spec::Recompute::Kind, bool windowed);
  /// Forward without a backward to come (serving.cpp): writes the KV cache, keeps nothing else.
  void infer(bool windowed);

 private:
  void write_kv_cache();
  void attention_decode(bool windowed);
  void join_parts(std::int64_t width);  // of one token's attention output
  void forward_operators(bool windowed);
  void recompute_unkept(bool windowed);  // under selective_ops
  void feed_forward_modules_again();     // under selective, before the backward of each branch
  void attention_modules_again(bool windowed);
  Attention fused_attention(bool windowed, bool backward) const;
  void attention_inputs_forward();
  void attention_forward(bool windowed);
  void lay_out(std::int64_t width, const char* what, int kernels);
  void attention_backward(bool windowed);
  void attention_core_forward(bool windowed);
  BlockActivations keeps_under(spec::Recompute::Kind) const;
  void written_softmax(std::int64_t scores, bool backward);  // of scores that no fused kernel keeps to itself
  void attention_core_backward(bool windowed);
  void qkv_forward();
  void qkv_backward();
  void mlp_forward(bool gathers, bool reduces);
  void mlp_inner_forward(bool gathers);  // up to the input of its last matmul
  void mlp_backward(bool gathers, bool reduces);
  void norm(const char* name, bool backward);
  void residual_gradient();
  void residual_dropout_gradient();
  void branches_backward(spec::Recompute::Kind, bool windowed);  // the feed-forward's, then the mixer's behind it
  void parallel_forward(bool windowed, bool stops);
  void mixer_forward(bool windowed, bool to_its_end);  // without its last matmul, if not
  void feed_forward_backward(spec::Recompute::Kind);
  void mixer_backward(spec::Recompute::Kind, bool windowed);
  void gate_forward();  // of attention's output
  void gate_backward();
  void parallel_branches_backward(spec::Recompute::Kind, bool windowed);
  spec::LayerParts parts() const;
  bool experts() const { return parts().has_experts(); }
  std::int64_t feed_forward_bytes() const;     // inside a pass whose tensors nobody keeps
  std::int64_t widest_gradient_bytes() const;  // around the first feed-forward matmul
  std::int64_t score_gradient_bytes() const;   // inside an attention that writes its scores

  const Context& c_;
  SegmentBuilder& out_;
};

}  // namespace plan
