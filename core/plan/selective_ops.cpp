// SPDX-License-Identifier: Apache-2.0
#include "core/plan/selective_ops.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "core/plan/block.h"
#include "core/plan/context_parallel.h"
#include "core/plan/elementwise.h"
#include "core/plan/mla.h"
#include "core/plan/moe.h"
#include "core/plan/tensor_parallel.h"

namespace plan {

std::vector<CountedMatmul> counted_matmuls(const spec::Model& m, bool experts) {
  std::vector<CountedMatmul> out;
  if (m.mla) {
    const std::int64_t heads = m.heads, query = heads * (m.mla->nope_head_dim + m.mla->rope_head_dim);
    if (m.mla->q_lora_rank > 0) {
      out.push_back({"query down", m.hidden, m.mla->q_lora_rank});
      out.push_back({"query up", m.mla->q_lora_rank, query});
    } else {
      out.push_back({"query", m.hidden, query});
    }
    out.push_back({"key and value down", m.hidden, m.mla->kv_lora_rank + m.mla->rope_head_dim});
    out.push_back({"key and value up", m.mla->kv_lora_rank, heads * (m.mla->nope_head_dim + m.mla->value_head_dim)});
  } else {
    out.push_back({"queries", m.hidden, m.gated_q_width()});
    out.push_back({"keys", m.hidden, m.kv_width()});
    out.push_back({"values", m.hidden, m.kv_width()});
  }
  out.push_back({"attention output", std::int64_t{m.heads} * m.value_head_dim(), m.hidden});
  const std::int64_t ffn = experts ? m.moe->shared_ffn : m.ffn;
  if (ffn > 0) {
    if (m.gated_mlp) out.push_back({experts ? "shared expert gate" : "feed-forward gate", m.hidden, ffn});
    out.push_back({experts ? "shared expert up" : "feed-forward up", m.hidden, ffn});
    out.push_back({experts ? "shared expert down" : "feed-forward down", ffn, m.hidden});
  }
  for (std::size_t i = 0; i < out.size(); i += 2) out[i].kept = true;
  return out;
}

namespace {

/// Whether attention leaves padded values: context-parallel kernels do without.
bool cuts_output(const Context& c) { return c.model.mla && pads_values(c) && c.cp == 1; }

}  // namespace

bool KeptMatmuls::operator()(std::string_view name) const {
  const auto it =
      std::find_if(counted_.begin(), counted_.end(), [&](const CountedMatmul& one) { return one.name == name; });
  if (it == counted_.end()) throw std::logic_error("no matmul of this layer is called " + std::string(name));
  return it->kept;
}

BlockActivations kept_by_selective_ops(const Context& c, spec::LayerParts parts) {
  const bool experts = parts.has_experts();
  const KeptMatmuls keeps(c, experts);
  const std::int64_t e = c.element, shard = c.shard_tokens * c.hidden, row = c.tokens * c.hidden * e;
  BlockActivations out;
  out.norm_inputs = shard * e;  // the block's input
  // The attention's reduce-scatter, or what its output's matmul made; that under sequence parallel is unread.
  if ((c.sp || keeps("attention output")) && !c.model.parallel_block) out.norm_inputs += shard * e;
  std::int64_t unread = c.sp && keeps("attention output") ? row : 0;
  if (c.model.mla) {
    out.qkv = latent_kept(c, keeps);
  } else {
    out.qkv =
        c.tokens *
        ((keeps("queries") ? c.q_width : 0) + (keeps("keys") ? c.kv_width : 0) + (keeps("values") ? c.kv_width : 0)) *
        e;
  }
  if (c.fused_attention()) {
    out.scores = c.tokens * c.heads * 4;
    out.qkv += kept_for_context_parallel(c);
    out.context = c.tokens * (cuts_output(c) ? c.q_width : c.context_width) * e;
  }
  if (experts) {
    const KeptOfExperts kept = kept_of_experts(c, keeps);
    out.experts = kept.read;
    if (!compiles_experts(c)) out.unread = kept.unread;
  } else {
    if (c.model.gated_mlp && keeps("feed-forward gate")) out.feed_forward += c.tokens * c.ffn * e;
    if (keeps("feed-forward up")) out.feed_forward += c.tokens * c.ffn * e;
    if (keeps("feed-forward down")) unread += row;
    if (c.sp) unread += shard * e;  // its reduce-scatter
  }
  // An eager framework keeps what the rule says, a compiler what is used.
  if (!c.strategy.compile) out.unread += unread;
  return out;
}

void Block::recompute_unkept(bool windowed) {
  TensorParallel linear(c_, out_);
  const KeptMatmuls keeps(c_, experts());
  norm("attention norm", false);
  if (c_.model.mla) {
    LatentAttention(c_, out_).forward_again(keeps);
  } else {
    for (const auto& [name, width] :
         {std::pair{"queries", c_.q_width}, {"keys", c_.kv_width}, {"values", c_.kv_width}}) {
      if (!keeps(name)) linear.column_forward({name, c_.hidden, width, false});
    }
  }
  if (!c_.fused_attention()) {
    attention_forward(windowed);
  } else {
    attention_inputs_forward();
    if (cuts_output(c_)) LatentAttention(c_, out_).cut_output("attention output cut");
  }
  if (!keeps("attention output")) {  // or what its reduction made
    linear.row_forward({"attention output", c_.context_width, c_.hidden, false}, !c_.sp && !c_.model.parallel_block);
  }
  const bool own_norm = !c_.model.parallel_block || c_.model.norms_in_parallel > 1;
  if (!c_.model.parallel_block) {
    if (c_.model.post_norms) norm("attention post norm", false);
    const Chain residual = residual_forward(c_);
    out_.compute(residual.work, "residual add", residual.launches);
  }
  if (own_norm) norm("feed-forward norm", false);
  if (experts()) return MoeLayer(c_, out_).forward_again(keeps);
  if (c_.model.gated_mlp) {  // one of the two is kept
    const char* name = keeps("feed-forward gate") ? "feed-forward up" : "feed-forward gate";
    linear.column_forward({name, c_.hidden, c_.ffn, false}, own_norm);
  } else {
    linear.column_forward_again({"feed-forward up", c_.hidden, c_.ffn, false}, keeps("feed-forward up"), own_norm);
  }
  const Chain activation = activation_forward(c_, c_.tokens);
  out_.compute(activation.work, "activation", activation.launches);
}

}  // namespace plan
