// core/plan/selective_ops.cpp -- torchtitan's selective activation checkpointing by operator ("op"): of the matmuls of
// a block, in the order q, k, v, output, gate (or up), up, down, the results of the first, third, fifth and seventh are
// kept, with those of fused attention and of reduce-scatters; everything else is computed again before the backward,
// up to the input of the last matmul. Declared in block.h.
// Source: torchtitan/distributed/activation_checkpoint.py (every even matmul is recomputed), Llama's order of matmuls.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/block.h"
#include "core/plan/context_parallel.h"
#include "core/plan/elementwise.h"
#include "core/plan/tensor_parallel.h"

namespace plan {

BlockActivations kept_by_selective_ops(const Context& c) {
  BlockActivations out;
  const std::int64_t e = c.element, shard = c.shard_tokens * c.hidden;
  out.norm_inputs = shard * e;                                        // the block's input
  if (c.sp && !c.model.parallel_block) out.norm_inputs += shard * e;  // the attention's reduce-scatter
  out.qkv = c.tokens * (c.q_width + c.kv_width) * e;                  // queries and values
  if (c.fused_attention()) {
    out.scores = c.tokens * c.heads * 4;
    out.qkv += kept_for_context_parallel(c);
    out.context = c.tokens * c.q_width * e;
  }
  out.feed_forward = c.tokens * c.ffn * e;
  // Kept as well, though no backward reads it: an eager framework keeps what the rule says, a compiler what is used.
  if (!c.strategy.compile) {
    if (c.model.gated_mlp) out.unread += c.tokens * c.hidden * e;
    if (c.sp) out.unread += shard * e;
  }
  return out;
}

void Block::recompute_unkept(bool windowed) {
  TensorParallel linear(c_, out_);
  norm("attention norm", false);
  linear.column_forward({"keys", c_.hidden, c_.kv_width, false});
  if (c_.fused_attention()) {
    attention_inputs_forward();
  } else {
    attention_forward(windowed);
  }
  linear.row_forward({"attention output", c_.q_width, c_.hidden, false}, !c_.sp && !c_.model.parallel_block);
  const bool own_norm = !c_.model.parallel_block || c_.model.norms_in_parallel > 1;
  if (!c_.model.parallel_block) {
    if (c_.model.post_norms) norm("attention post norm", false);
    const Chain residual = residual_forward(c_);
    out_.compute(residual.work, "residual add", residual.launches);
  }
  if (own_norm) norm("feed-forward norm", false);
  if (c_.model.gated_mlp) linear.column_forward({"feed-forward up", c_.hidden, c_.ffn, false}, own_norm);
  const Chain activation = activation_forward(c_, c_.tokens);
  out_.compute(activation.work, "activation", activation.launches);
}

}  // namespace plan
