// core/plan/activations.cpp -- what a block keeps for its backward, and what it holds in passing (declared in block.h).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/plan/adapters.h"
#include "core/plan/autocast.h"
#include "core/plan/block.h"
#include "core/plan/context_parallel.h"
#include "core/plan/elementwise.h"
#include "core/plan/low_precision.h"
#include "core/plan/mla.h"
#include "core/plan/moe_shape.h"
#include "core/plan/recurrent.h"
#include "core/plan/sparse_attention.h"

namespace plan {

using RecomputeKind = spec::Recompute::Kind;

namespace {

/// Inputs of linear layers are kept in the narrow format where its casts are kept.
void keep_narrow(const Context& c, BlockActivations& out) {
  const auto scaled = [](std::int64_t bytes, double factor) {
    return static_cast<std::int64_t>(static_cast<double>(bytes) * factor);
  };
  const std::int64_t down_input = c.tokens * c.ffn * c.element;
  if (spec::bytes_of(c.dtype) >= 2 || !keeps_casts(c)) return;
  const double narrow = narrow_bytes(c) / static_cast<double>(c.element);
  out.linear_inputs = scaled(out.linear_inputs, narrow);
  out.context += scaled(out.context, narrow);  // attention's backward reads it in 16 bits
  if (out.feed_forward > 0) out.feed_forward += scaled(down_input, narrow) - down_input;
  if (out.recurrent > 0) {
    const std::int64_t output_input = c.tokens * recurrent_out(c).in * c.element;
    out.recurrent += scaled(output_input, narrow) - output_input;
  }
  if (out.experts > 0) {
    const MoeShape shape(c);
    const std::int64_t projected = c.model.moe->latent > 0 ? shape.tokens * shape.width : 0;
    const std::int64_t inputs = shape.rows * (shape.width + shape.ffn) + c.tokens * shape.shared_ffn + projected;
    out.experts += scaled(inputs * c.element, narrow) - inputs * c.element;
  }
}

/// Queries, keys and values are kept as they were cast, unless attention or what makes them is run again. In the mean
/// over layers where a few of them stay wide.
std::int64_t saved_by_fp8_attention(const Context& c, RecomputeKind kind) {
  const spec::RecomputeModules& again = c.strategy.recompute.modules;
  if (!c.job.training.fp8_attention || c.serves) return 0;
  if (kind == RecomputeKind::selective && (again.core_attn || again.mla_up_proj)) return 0;
  const std::int64_t wide = c.job.training.wide_layers.first + c.job.training.wide_layers.last;
  const std::int64_t cast = (c.tokens * c.q_width + keys_and_values(c)) * (c.element - 1);
  return cast * (c.model.layers - wide) / c.model.layers;  // precision_rules.cpp: some layer is narrow
}

/// Queries, keys and values, scores, and what attention gives.
void keep_of_attention(const Context& c, RecomputeKind kind, BlockActivations& out) {
  const std::int64_t e = c.element;
  out.qkv = c.model.mla ? latent_activations(c) : c.tokens * c.qkv_width * e;
  if (c.model.qk_norm) out.qkv += c.tokens * (c.q_width + c.kv_width) * e;
  out.qkv += 2 * c.tokens * (std::int64_t{c.attention_kv_heads} * c.head_dim - c.kv_width) * e;  // copies beside none
  out.qkv -= saved_by_fp8_attention(c, kind);
  out.qkv += kept_for_context_parallel(c);
  const std::int64_t scores = c.batch * c.heads * c.sequence * c.sequence;
  if (c.fused_attention()) {
    out.scores = c.tokens * c.heads * 4;  // log-sum-exp of each row, fp32
  } else {
    // The softmax, in fp32 and cast behind where it is a chain of kernels; its dropout's mask and result.
    const std::int64_t softmax = upcasts_scores(c) ? 4 + e : e;
    out.scores = scores * (softmax + (c.dropout ? e + 1 : 0));
  }
  out.context = c.tokens * (c.context_width + (c.model.mla && pads_values(c) ? c.q_width : 0) + c.gate_width) * e;
}

}  // namespace

BlockActivations kept_activations(const Context& c, RecomputeKind kind, spec::LayerParts parts, bool narrow) {
  BlockActivations out;
  const std::int64_t e = c.element;
  const std::int64_t shard = c.shard_tokens * c.hidden;  // one residual-stream tensor
  if (kind == RecomputeKind::full) {
    out.norm_inputs = shard * c.stream;  // the block's input alone
    if (parts.indexes) out.scores = shared_choice(c);
    return out;
  }
  if (kind == RecomputeKind::selective_ops) return kept_by_selective_ops(c, parts);
  const bool one_norm = c.model.parallel_block && c.model.norms_in_parallel == 1;
  const std::int64_t norms = (c.model.parallel_block ? 1 : parts.branches()) + (c.model.post_norms ? 2 : 0);
  out.norm_inputs = norms * shard * kept_by_stream_norm(c);
  const std::int64_t input = c.sp && c.job.framework.keeps_gathered ? c.tokens * c.hidden : shard;
  int casts = 0;
  if (parts.attends() && !one_norm) casts += casts_of_input(c, qkv_linear(c));
  if (parts.recurs()) casts += casts_of_input(c, recurrent_in(c));
  if (parts.feed_forward != spec::FeedForward::none) casts += casts_of_input(c, up_linear(c));
  out.linear_inputs = casts * input * e;
  if (parts.attends()) keep_of_attention(c, kind, out);
  if (parts.indexes) out.scores += indexer_activations(c);
  if (parts.recurs()) out.recurrent = recurrent_activations(c);
  // Up to here every count is of tensors that the backward reads; an eager gated activation also keeps some between.
  const std::int64_t eager = kept_by_eager_gate(c) * std::int64_t{c.ffn};
  if (parts.has_experts()) {
    out.experts = moe_activations(c).total();
  } else if (parts.has_dense()) {
    out.feed_forward =
        c.tokens * (c.up_width * activation_input_element(c) + (eager + c.ffn) * e + c.ffn * kept_of_written_gelu(c));
  }
  out.masks = c.dropout ? (c.model.parallel_block ? 1 : parts.branches()) * shard : 0;
  if (c.strategy.lora) {  // adapters read their inputs in 16 bits
    keep_for_adapters(c, parts, out);
  } else if (narrow) {
    keep_narrow(c, out);
  }
  return kind == RecomputeKind::selective ? without_modules(c, parts, out) : out;
}

RecomputeKind recompute_of(const Context& c, int index_in_stage) {
  const spec::Recompute& recompute = c.strategy.recompute;
  if (recompute.kind == RecomputeKind::full && recompute.layers > 0 && index_in_stage >= recompute.layers)
    return RecomputeKind::none;
  return recompute.kind;
}

std::int64_t Block::feed_forward_bytes() const {
  if (experts()) return moe_activations(c_).total();
  if (!parts().has_dense()) return parts().recurs() ? recurrent_activations(c_) : c_.tokens * c_.qkv_width * c_.element;
  return c_.tokens * (c_.up_width + c_.ffn) * c_.element;
}

/// Gradients of the scores: one tensor, which a softmax kernel turns in place (Megatron's); as a chain of kernels also
/// the fp32 one it reads and the one it writes.
std::int64_t Block::score_gradient_bytes() const {
  if (c_.fused_attention() || !parts().attends()) return 0;
  const std::int64_t scores = c_.batch * c_.heads * c_.sequence * c_.sequence;
  return scores * (upcasts_scores(c_) ? c_.element + 8 : c_.element);
}

std::int64_t Block::widest_gradient_bytes() const {
  // Gate and up apart leave an input gradient each, which are added.
  const bool apart = c_.job.framework.separate_linears && c_.model.gated_mlp;
  if (!experts()) {
    // Attention's queries, keys and values count where nothing else does.
    const bool dense = parts().has_dense();
    std::int64_t widest = dense ? c_.up_width : parts().attends() ? c_.qkv_width : 0;
    if (parts().recurs()) widest = std::max(widest, recurrent_in(c_).out);
    return c_.tokens * (widest + c_.hidden * (apart && dense ? 2 : 1)) * c_.element;
  }
  const MoeShape shape(c_);
  const int inputs = separates_experts(c_) ? 2 : 1;
  const std::int64_t around = shape.rows * (shape.up_width + inputs * shape.width) * c_.element;
  if (!weighs_wide(c_)) return around;
  // In fp32 the gradient of weighed results, that of the results and the product that is summed up for the weights,
  // before anything is exchanged.
  return std::max(around, 3 * 4 * shape.copies * shape.width - moe_exchange_bytes(c_));
}

}  // namespace plan
