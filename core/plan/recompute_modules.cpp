// core/plan/recompute_modules.cpp -- Megatron Core's selective recomputation by module: the result of a norm, of the
// latent attention's up-projections or of the experts' activation is let go once the linear behind it has read it, and
// made again from its own input before that linear's backward; a whole feed-forward is made again from its input.
// Declared in block.h. Source: NVIDIA/Megatron-LM megatron/core/transformer/transformer_config.py, recompute_modules
// (2025); DeepSeek-V3 computes norms, up-projections and SwiGLU again (arXiv 2412.19437, section 3.2.3).
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/block.h"
#include "core/plan/context_parallel.h"
#include "core/plan/elementwise.h"
#include "core/plan/low_precision.h"
#include "core/plan/mla.h"
#include "core/plan/moe.h"
#include "core/plan/moe_shape.h"
#include "core/plan/sparse_attention.h"

namespace plan {
namespace {

/// Bytes of an element of a linear's input as it is kept.
double input_element(const Context& c) {
  const bool narrow = spec::bytes_of(c.dtype) < 2 && keeps_casts(c);
  return narrow ? narrow_bytes(c) : static_cast<double>(c.element);
}

/// Bytes of the result of an activation that feeds a linear, with silu's where that is a tensor of its own.
std::int64_t activated(const Context& c, std::int64_t tokens, std::int64_t width) {
  const double eager = static_cast<double>(kept_by_eager_gate(c) * c.element);
  return static_cast<std::int64_t>(static_cast<double>(tokens * width) * (input_element(c) + eager));
}

}  // namespace

BlockActivations without_modules(const Context& c, spec::LayerParts parts, BlockActivations all) {
  const spec::RecomputeModules& m = c.strategy.recompute.modules;
  if (m.core_attn && parts.attends()) {
    if (!c.fused_attention()) all.scores = 0;
    all.qkv -= kept_for_context_parallel(c);
    if (c.model.indexer) {  // a part of it, as the heads' own values are
      all.qkv -= c.tokens * c.heads * c.model.mla->kv_lora_rank * c.element;
      all.scores = parts.indexes ? shared_choice(c) : 0;
    }
  }
  if (m.layernorm) {
    const std::int64_t norms = (c.model.parallel_block ? 1 : parts.branches()) + (c.model.post_norms ? 2 : 0);
    all.norm_inputs = norms * c.shard_tokens * c.hidden * c.element;
    all.linear_inputs = 0;
  }
  if (m.mla_up_proj && parts.attends()) {
    const spec::Mla& mla = *c.model.mla;
    const std::int64_t latent = mla.q_lora_rank + mla.kv_lora_rank + mla.rope_head_dim;
    all.qkv -= latent_activations(c) - c.shard_tokens * latent * c.element;
  }
  if (!parts.has_experts()) {
    if (m.mlp) all.feed_forward = 0;
    return all;
  }
  const MoeShape shape(c);
  if (m.moe) {
    all.experts = 0;
    return all;
  }
  if (m.moe_act) all.experts -= activated(c, shape.rows, shape.ffn);
  if (m.shared_experts) {
    const std::int64_t input = c.tokens * shape.shared_up_width * activation_input_element(c);
    all.experts -= input + activated(c, c.tokens, shape.shared_ffn);
  }
  return all;
}

void Block::feed_forward_modules_again() {
  const spec::RecomputeModules& m = c_.strategy.recompute.modules;
  out_.phase = Phase::recompute;
  if (m.layernorm) norm("feed-forward norm", false);
  if (!experts()) {
    if (m.mlp && stops_recompute(c_, out_.layer)) {
      mlp_inner_forward(true);
    } else if (m.mlp) {
      mlp_forward(true, true);
    }
  } else if (m.moe) {
    MoeLayer(c_, out_).forward();
  } else {
    if (m.moe_act) {
      const MoeShape shape(c_);
      const Chain chain = activation_forward(c_, shape.rows, shape.ffn);
      out_.compute(chain.work, "expert activation", chain.launches);
    }
    if (m.shared_experts) MoeLayer(c_, out_).shared_forward();
  }
  out_.phase = Phase::backward;
}

void Block::attention_modules_again(bool windowed) {
  const spec::RecomputeModules& m = c_.strategy.recompute.modules;
  out_.phase = Phase::recompute;
  if (m.layernorm) norm(parts().recurs() ? "recurrent norm" : "attention norm", false);
  if (!parts().attends()) return void(out_.phase = Phase::backward);
  if (m.mla_up_proj) LatentAttention(c_, out_).up_forward_again();
  if (m.core_attn) attention_core_forward(windowed);
  out_.phase = Phase::backward;
}

}  // namespace plan
