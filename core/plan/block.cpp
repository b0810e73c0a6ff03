// SPDX-License-Identifier: Apache-2.0
#include "core/plan/block.h"

#include <algorithm>

#include "core/plan/adapters.h"
#include "core/plan/autocast.h"
#include "core/plan/context_parallel.h"
#include "core/plan/elementwise.h"
#include "core/plan/ends.h"
#include "core/plan/low_precision.h"
#include "core/plan/mla.h"
#include "core/plan/moe.h"
#include "core/plan/packed_heads.h"
#include "core/plan/recurrent.h"
#include "core/plan/sparse_attention.h"
#include "core/plan/tensor_parallel.h"

namespace plan {
namespace {

using RecomputeKind = spec::Recompute::Kind;

/// Numbers of a token's queries, keys and values of all heads.
std::int64_t whole_qkv(const Context& c) { return c.model.gated_q_width() + 2 * c.model.kv_width(); }

}  // namespace

bool stops_recompute(const Context& c, int layer) {
  const spec::LayerParts parts = c.model.parts_in(layer);
  const Linear last = parts.has_dense() ? down_linear(c) : parts.recurs() ? recurrent_out(c) : proj_linear(c);
  const bool reads_output = c.dropout || c.model.post_norms || parts.has_experts() || adapted(c, last);
  // Saved by a function of its own, a cast operand is there when its matmul is done; a compiler sees what is read.
  const bool casts = narrow(c, layer) && !c.strategy.compile;
  return c.job.framework.stops_recompute.value_or(false) && !reads_output && !casts;
}

spec::LayerParts Block::parts() const {
  return out_.module > 0 ? c_.model.module_parts_in(out_.layer) : c_.model.parts_in(out_.layer);
}

void Block::norm(const char* name, bool backward) { norm_kernel(c_, out_, name, backward); }

/// Of whole sequences; a chunk is to attention what a packed document is.
Attention Block::fused_attention(bool windowed, bool backward) const {
  return {c_.attention,
          c_.batch,
          c_.sequence,
          c_.sequence,
          c_.heads,
          c_.attention_kv_heads,
          c_.head_dim,
          c_.model.causal,
          windowed ? c_.model.window : 0,
          backward,
          c_.dropout,
          attention_dtype(c_, out_.layer),
          c_.model.mla ? c_.value_head_dim : 0,
          windowed ? c_.chunk : c_.document};
}

void Block::attention_core_forward(bool windowed) {
  if (c_.serves) write_kv_cache();
  if (c_.decodes) return attention_decode(windowed);
  if (c_.model.indexer) {
    SparseAttention(c_, out_, parts().indexes).forward();
    return LatentAttention(c_, out_).absorbed_output();
  }
  cast_for_attention(c_, out_, false);
  if (c_.cp > 1) return ContextParallel(c_, out_, windowed).forward();
  const std::int64_t scores = c_.batch * c_.heads * c_.sequence * c_.sequence;
  if (c_.fused_attention()) {
    out_.compute(fused_attention(windowed, false), "attention");
    if (c_.model.mla) LatentAttention(c_, out_).cut_output("attention output cut");
    return;
  }
  const std::int64_t batch = c_.batch * c_.heads;
  out_.compute(Matmul{c_.sequence, c_.sequence, c_.head_dim, batch, c_.operand, c_.storage, false}, "attention scores");
  written_softmax(scores, false);
  if (c_.dropout) {
    const Chain dropout = dropout_forward(c_, scores);
    out_.compute(dropout.work, "attention dropout", dropout.launches);
  }
  out_.compute(Matmul{c_.sequence, c_.value_head_dim, c_.sequence, batch, c_.operand, c_.storage, false},
               "attention values");
  const Chain copy = copy_of(c_, c_.tokens * c_.context_width);
  out_.compute(copy.work, "attention transpose", copy.launches);
}

void Block::written_softmax(std::int64_t scores, bool backward) {
  const Chain softmax = backward ? softmax_backward(c_, scores) : softmax_forward(c_, scores);
  if (!softmax_is_one_kernel(c_)) {
    const Chain around = scores_around_softmax(c_, scores);
    out_.compute(around.work, backward ? "attention mask gradient" : "attention mask", around.launches);
  }
  out_.compute(softmax.work, backward ? "attention softmax gradient" : "attention softmax", softmax.launches);
}

void Block::attention_core_backward(bool windowed) {
  if (c_.model.indexer) {
    LatentAttention(c_, out_).absorbed_output_gradient();
    return SparseAttention(c_, out_, parts().indexes).backward();
  }
  cast_for_attention(c_, out_, true);
  if (c_.cp > 1) return ContextParallel(c_, out_, windowed).backward();
  const std::int64_t scores = c_.batch * c_.heads * c_.sequence * c_.sequence;
  if (c_.fused_attention()) {
    if (c_.model.mla) LatentAttention(c_, out_).cut_output("attention output cut gradient");
    out_.compute(fused_attention(windowed, true), "attention gradient", 3);
    return;
  }
  const std::int64_t batch = c_.batch * c_.heads;
  const Matmul narrow{c_.sequence, c_.head_dim, c_.sequence, batch, c_.operand, c_.storage, false};
  const Matmul square{c_.sequence, c_.sequence, c_.value_head_dim, batch, c_.operand, c_.storage, false};
  const Matmul values{c_.sequence, c_.value_head_dim, c_.sequence, batch, c_.operand, c_.storage, false};
  const Chain copy = copy_of(c_, c_.tokens * c_.context_width);
  out_.compute(copy.work, "attention transpose gradient", copy.launches);
  out_.compute(square, "attention values: scores gradient");
  out_.compute(values, "attention values: values gradient");
  if (c_.dropout) {
    const Chain dropout = dropout_backward(c_, scores);
    out_.compute(dropout.work, "attention dropout gradient", dropout.launches);
  }
  written_softmax(scores, true);
  out_.compute(narrow, "attention scores: queries gradient");
  out_.compute(narrow, "attention scores: keys gradient");
}

void Block::attention_inputs_forward() {
  if (c_.model.qk_norm) {
    const Chain chain = query_key_norm(c_, false);
    out_.compute(chain.work, "query and key norm", chain.launches);
  }
  if (c_.model.ropes_in(out_.layer) && !c_.model.mla) {
    const Chain rope = rope_forward(c_);
    out_.compute(rope.work, "rotary embedding", rope.launches);
  }
  if (c_.attention_kv_heads > c_.kv_heads) {
    const Chain copies = expand_kv(c_, false);
    out_.compute(copies.work, "keys and values copied to heads", copies.launches);
  }
}

void Block::lay_out(std::int64_t width, const char* what, int kernels) {
  if (width > 0) out_.compute(copy_of(c_, c_.tokens * width).work, what, kernels);
}

void Block::attention_forward(bool windowed) {
  attention_inputs_forward();
  lay_out(copied_before_attention(c_, c_.model.ropes_in(out_.layer)), "queries, keys and values laid out", 2);
  attention_core_forward(windowed);
  gate_forward();
}

/// Output times the sigmoid of its gate: one compiled kernel, or two with the sigmoid written between.
void Block::gate_forward() {
  if (c_.gate_width == 0) return;
  const bool fused = c_.fused_activation;
  const Chain gated = chain(MemoryBound::Kind::elementwise, c_.tokens * c_.gate_width, fused ? 4.0 : 6.0,
                            fused ? 2.0 : 4.0, fused ? 1 : 2);
  out_.compute(gated.work, "attention gate", gated.launches);
}

void Block::gate_backward() {
  if (c_.gate_width == 0) return;
  const bool fused = c_.fused_activation;
  const Chain gated = chain(MemoryBound::Kind::elementwise, c_.tokens * c_.gate_width, fused ? 6.0 : 12.0,
                            fused ? 4.0 : 6.0, fused ? 1 : 3);
  out_.compute(gated.work, "attention gate gradient", gated.launches);
}

void Block::attention_backward(bool windowed) {
  gate_backward();
  attention_core_backward(windowed);
  if (c_.attention_kv_heads > c_.kv_heads) {
    const Chain sums = expand_kv(c_, true);
    out_.compute(sums.work, "key and value gradients summed over heads", sums.launches);
  }
  if (c_.model.ropes_in(out_.layer) && !c_.model.mla) {
    const Chain rope = rope_backward(c_);
    out_.compute(rope.work, "rotary embedding gradient", rope.launches);
  }
  lay_out(copied_behind_attention(c_, c_.model.ropes_in(out_.layer)), "query, key and value gradients joined", 1);
  if (c_.model.qk_norm) {
    const Chain chain = query_key_norm(c_, true);
    out_.compute(chain.work, "query and key norm gradient", chain.launches);
  }
}

void Block::qkv_forward() {
  if (c_.model.mla) return LatentAttention(c_, out_).forward();
  TensorParallel(c_, out_).column_forward(qkv_linear(c_));
  if (!c_.gathers_qkv) return;
  const std::int64_t all = whole_qkv(c_);
  TensorParallel(c_, out_).collective(CollectiveKind::all_gather, c_.tokens * all,
                                      "queries, keys and values all-gather");
  lay_out(all, "queries, keys and values joined", 1);
}

void Block::qkv_backward() {
  if (c_.model.mla) return LatentAttention(c_, out_).backward();
  if (c_.gathers_qkv) {  // of what a rank took: zeros beside it
    const std::int64_t all = whole_qkv(c_);
    lay_out(all, "queries, keys and values gradient laid out", 2);
    TensorParallel(c_, out_).collective(CollectiveKind::reduce_scatter, c_.tokens * all,
                                        "queries, keys and values gradient reduce-scatter");
  }
  TensorParallel(c_, out_).column_backward(qkv_linear(c_));
}

void Block::mlp_forward(bool gathers, bool reduces) {
  if (experts()) return MoeLayer(c_, out_).forward();
  mlp_inner_forward(gathers);
  TensorParallel(c_, out_).row_forward(down_linear(c_), reduces);
}

void Block::mlp_inner_forward(bool gathers) {
  TensorParallel(c_, out_).column_forward(up_linear(c_), gathers);
  const Chain activation = activation_forward(c_, c_.tokens);
  out_.compute(activation.work, "activation", activation.launches);
}

void Block::mlp_backward(bool gathers, bool reduces) {
  if (experts()) return MoeLayer(c_, out_).backward();
  TensorParallel linear(c_, out_);
  linear.row_backward(down_linear(c_), gathers);
  const Chain activation = activation_backward(c_, c_.tokens);
  out_.compute(activation.work, "activation gradient", activation.launches);
  linear.column_backward(up_linear(c_), gathers, reduces);
}

void Block::mixer_forward(bool windowed, bool to_its_end) {
  if (parts().recurs()) return RecurrentMixer(c_, out_).forward(to_its_end);
  qkv_forward();
  attention_forward(windowed);
  if (to_its_end) TensorParallel(c_, out_).row_forward(proj_linear(c_));
}

/// One reduction behind both branches; with one norm they read the same gathered tokens.
void Block::parallel_forward(bool windowed, bool stops) {
  TensorParallel linear(c_, out_);
  const bool two_norms = c_.model.norms_in_parallel > 1;
  norm("attention norm", false);
  if (two_norms) norm("feed-forward norm", false);
  linear.column_forward(qkv_linear(c_));
  attention_forward(windowed);
  linear.row_forward(proj_linear(c_), false);
  if (stops) return mlp_inner_forward(two_norms);
  mlp_forward(two_norms, true);
  const Chain residual = residual_forward(c_);
  out_.compute(residual.work, "residual add", residual.launches);
  out_.compute(residual.work, "residual add", residual.launches);
}

void Block::forward_operators(bool windowed) {
  const bool stops = out_.phase == Phase::recompute && stops_recompute(c_, out_.layer);
  if (c_.model.parallel_block) return parallel_forward(windowed, stops);
  const spec::LayerParts parts = this->parts();
  const bool mixes_alone = parts.feed_forward == spec::FeedForward::none;
  const Chain residual = residual_forward(c_);
  if (parts.mixer != spec::Mixer::none) {
    norm(parts.recurs() ? "recurrent norm" : "attention norm", false);
    mixer_forward(windowed, !(stops && mixes_alone));
    if (stops && mixes_alone) return;
    if (c_.model.post_norms) norm("attention post norm", false);
    out_.compute(residual.work, "residual add", residual.launches);
  }
  if (mixes_alone) return;
  norm("feed-forward norm", false);
  if (stops) return mlp_inner_forward(true);
  mlp_forward(true, true);
  if (c_.model.post_norms) norm("feed-forward post norm", false);
  out_.compute(residual.work, "residual add", residual.launches);
}

BlockActivations Block::keeps_under(RecomputeKind kind) const {
  return kept_activations(c_, kind, parts(), narrow(c_, out_.layer));
}

void Block::forward(RecomputeKind kind, bool windowed) {
  out_.phase = Phase::forward;
  const BlockActivations keeps = keeps_under(kind);
  const std::int64_t kept = keeps.total(), whole = keeps_under(RecomputeKind::none).total() + keeps.unread;
  // While it runs, a block that is recomputed later holds what a whole one keeps; it is let go at its end.
  out_.take(Category::activations, kept);
  out_.take(Category::parameters, block_casts(c_, parts()));
  const std::int64_t passing = kind == RecomputeKind::full ? feed_forward_bytes() : whole - kept;
  out_.take(Category::workspace, passing);
  forward_operators(windowed);
  out_.give(Category::workspace, passing);
}

void Block::residual_dropout_gradient() {
  const Chain dropout = dropout_backward(c_, c_.shard_tokens * c_.hidden);
  out_.compute(dropout.work, "residual dropout gradient", dropout.launches);
}

void Block::residual_gradient() {
  const Chain joined = residual_backward(c_);
  out_.compute(joined.work, "residual gradient", joined.launches);
}

void Block::feed_forward_backward(RecomputeKind kind) {
  if (c_.model.post_norms) norm("feed-forward post norm gradient", true);
  if (kind == RecomputeKind::selective) feed_forward_modules_again();
  mlp_backward(true, true);
  norm("feed-forward norm gradient", true);
  residual_gradient();
}

void Block::mixer_backward(RecomputeKind kind, bool windowed) {
  if (c_.model.post_norms) norm("attention post norm gradient", true);
  const bool recurs = parts().recurs();
  if (!recurs) TensorParallel(c_, out_).row_backward(proj_linear(c_));
  if (kind == RecomputeKind::selective) attention_modules_again(windowed);
  if (recurs) {
    RecurrentMixer(c_, out_).backward();
  } else {
    attention_backward(windowed);
    qkv_backward();
  }
  norm(recurs ? "recurrent norm gradient" : "attention norm gradient", true);
  residual_gradient();
}

void Block::branches_backward(RecomputeKind kind, bool windowed) {
  const spec::LayerParts parts = this->parts();
  if (parts.feed_forward != spec::FeedForward::none) feed_forward_backward(kind);
  if (parts.mixer == spec::Mixer::none) return;
  if (c_.dropout && parts.branches() > 1) residual_dropout_gradient();
  mixer_backward(kind, windowed);
}

/// With one norm the branches' gradients meet before they are reduced.
void Block::parallel_branches_backward(RecomputeKind kind, bool windowed) {
  TensorParallel linear(c_, out_);
  const bool two_norms = c_.model.norms_in_parallel > 1;
  mlp_backward(true, two_norms);
  linear.row_backward(proj_linear(c_), false);
  if (kind == RecomputeKind::selective) attention_modules_again(windowed);
  attention_backward(windowed);
  linear.column_backward(qkv_linear(c_), two_norms, true);
  if (two_norms) norm("feed-forward norm gradient", true);
  norm("attention norm gradient", true);
  residual_gradient();
  residual_gradient();
}

std::int64_t held_of_frozen(const Context& c, RecomputeKind kind) {
  const spec::Framework& f = c.job.framework;
  const bool holds = f.holds_frozen_inputs && c.strategy.lora && c.fully_sharded && kind == RecomputeKind::full &&
                     !f.stops_recompute.value_or(false);
  return holds ? 2 * c.shard_tokens * c.hidden * c.stream : 0;
}

void Block::backward(RecomputeKind kind, bool windowed) {
  const BlockActivations keeps = keeps_under(kind);
  const std::int64_t kept = keeps.total(), whole = keeps_under(RecomputeKind::none).total() + keeps.unread;
  const std::int64_t held = held_of_frozen(c_, kind) / 2;  // the input, which stays, and its gradient, which comes
  out_.take(Category::activations, whole - kept + held);
  out_.take(Category::parameters, recast_in_block(c_, kind, parts()));
  if (kind == RecomputeKind::full) {
    out_.phase = Phase::recompute;
    forward_operators(windowed);
  } else if (kind == RecomputeKind::selective_ops) {
    out_.phase = Phase::recompute;
    recompute_unkept(windowed);
  }
  out_.phase = Phase::backward;
  const std::int64_t shard = c_.shard_tokens * c_.hidden;
  // Gradients in flight at the widest point, the first feed-forward matmul's output or the scores, and beside it.
  const std::int64_t flowing = std::max(widest_gradient_bytes(), score_gradient_bytes()) + shard * c_.stream;
  out_.take(Category::workspace, flowing);
  if (c_.dropout) residual_dropout_gradient();
  if (c_.model.parallel_block) {
    parallel_branches_backward(kind, windowed);
  } else {
    branches_backward(kind, windowed);
  }
  out_.give(Category::workspace, flowing);
  out_.give_unretained(Category::activations, whole - held);
  out_.give(Category::parameters, block_casts(c_, parts()));
}

}  // namespace plan
