// SPDX-License-Identifier: Apache-2.0
#include "core/plan/mla.h"

#include "core/plan/adapters.h"
#include "core/plan/elementwise.h"

namespace plan {
namespace {

using Kind = MemoryBound::Kind;

struct Widths {
  std::int64_t query, key_value;  // of all heads of a rank: nope + rope; nope + value
  std::int64_t latent, rope;      // keys and values compressed; rotary part of the keys, one for all heads
  std::int64_t rotary;            // of the queries of all heads
};

Widths widths(const Context& c) {
  const spec::Mla& m = *c.model.mla;
  const std::int64_t heads = c.heads;
  return {heads * (m.nope_head_dim + m.rope_head_dim), heads * (m.nope_head_dim + m.value_head_dim), m.kv_lora_rank,
          m.rope_head_dim, heads * m.rope_head_dim};
}

Linear query_down(const Context& c) {
  return {"query down", c.hidden, c.model.mla->q_lora_rank, c.model.has_qkv_bias(), c.shard_tokens};
}
Linear query_up(const Context& c) { return {"query up", c.model.mla->q_lora_rank, widths(c).query}; }
Linear query_whole(const Context& c) { return {"query", c.hidden, widths(c).query}; }
Linear key_value_down(const Context& c) {
  return {"key and value down", c.hidden, widths(c).latent + widths(c).rope, c.model.has_qkv_bias(), c.shard_tokens};
}
Linear key_value_up(const Context& c) { return {"key and value up", widths(c).latent, widths(c).key_value}; }

/// `read` and `written` elements of storage.
MemoryBound moves(const Context& c, Kind kind, std::int64_t read, std::int64_t written, int kernels) {
  return {kind, read * c.element, written * c.element, kernels};
}

}  // namespace

bool pads_values(const Context& c) {
  const bool amd = traits_of(c.job.cluster.node.gpu.generation).amd;
  return wants_equal_heads(c.attention, amd) && c.value_head_dim < c.head_dim;
}

void LatentAttention::norm(std::int64_t width, std::string_view name, bool backward) {
  const std::int64_t elements = c_.shard_tokens * width;
  const Chain chain =
      backward ? norm_backward(c_, elements, width, c_.element) : norm_forward(c_, elements, width, c_.element);
  out_.compute(chain.work, name, chain.launches);
}

/// The rotary part of queries and of the shared keys is turned, then each head's keys are put together from their own
/// part and the shared one. One fused kernel for queries (in place) and one for keys and values; otherwise the rotation
/// is the eager chain of elementwise.cpp, queries are joined again and values made contiguous.
void LatentAttention::heads_forward() {
  const Widths w = widths(c_);
  const std::int64_t t = c_.tokens;
  const std::int64_t values = std::int64_t{c_.heads} * c_.value_head_dim;
  const bool rotates = c_.model.ropes();
  if (rotates && c_.fused_rope) {
    out_.compute(moves(c_, Kind::elementwise, t * w.rotary, t * w.rotary, 1), "rotary embedding of queries");
    out_.compute(moves(c_, Kind::elementwise, t * (w.key_value + w.rope), t * (w.query + values), 1),
                 "rotary embedding and join of keys");
  } else {
    if (rotates) {
      const Chain chain = rotation(c_, t * (w.rotary + w.rope), false);
      out_.compute(chain.work, "rotary embedding", chain.launches);
      out_.compute(moves(c_, Kind::copy, t * w.query, t * w.query, 1), "join of queries");
    }
    out_.compute(moves(c_, Kind::copy, t * (w.query - w.rotary + w.rope), t * w.query, 1), "join of keys");
    out_.compute(moves(c_, Kind::copy, t * values, t * values, 1), "values made contiguous");
  }
  if (pads_values(c_)) out_.compute(moves(c_, Kind::copy, t * values, t * w.query, 1), "value padding");
}

/// The rotary part of the keys' gradients is summed over the heads.
void LatentAttention::heads_backward() {
  const Widths w = widths(c_);
  const std::int64_t t = c_.tokens;
  const std::int64_t values = std::int64_t{c_.heads} * c_.value_head_dim;
  const bool rotates = c_.model.ropes();
  if (pads_values(c_)) out_.compute(moves(c_, Kind::copy, t * values, t * values, 1), "value padding gradient");
  if (rotates && c_.fused_rope) {
    out_.compute(moves(c_, Kind::elementwise, t * (w.query + values), t * (w.key_value + w.rope), 1),
                 "rotary embedding and join of keys gradient");
    out_.compute(moves(c_, Kind::elementwise, t * w.rotary, t * w.rotary, 1), "rotary embedding of queries gradient");
    return;
  }
  out_.compute(moves(c_, Kind::reduce, t * w.rotary, t * w.rope, 1), "sum of the keys' shared gradient");
  out_.compute(moves(c_, Kind::copy, t * (w.query - w.rotary + values), t * w.key_value, 1),
               "join of keys and values gradient");
  if (!rotates) return;
  const Chain chain = rotation(c_, t * (w.rotary + w.rope), true);
  out_.compute(chain.work, "rotary embedding gradient", chain.launches);
  out_.compute(moves(c_, Kind::copy, t * w.query, t * w.query, 1), "join of queries gradient");
}

void LatentAttention::cut_output(std::string_view name) {
  if (!pads_values(c_)) return;
  const std::int64_t elements = c_.tokens * c_.context_width;
  out_.compute(moves(c_, Kind::copy, elements, elements, 1), name);
}

void LatentAttention::forward() {
  const Widths w = widths(c_);
  TensorParallel linear(c_, out_);
  if (mla_.q_lora_rank > 0) {
    linear.full_forward(query_down(c_));
    norm(mla_.q_lora_rank, "query norm", false);
    linear.column_forward(query_up(c_));
  } else {
    linear.column_forward(query_whole(c_));
  }
  linear.full_forward(key_value_down(c_));
  if (c_.sp) linear.collective(CollectiveKind::all_gather, c_.tokens * w.rope, "rotary keys all-gather");
  norm(w.latent, "key and value norm", false);
  if (c_.decodes) return absorbed_queries();
  if (c_.model.indexer) {
    if (c_.sp) linear.collective(CollectiveKind::all_gather, c_.tokens * w.latent, "latent keys all-gather");
    absorbed_queries();
    return joined_latents(false);
  }
  linear.column_forward(key_value_up(c_));
  heads_forward();
}

void LatentAttention::up_forward_again() {
  TensorParallel linear(c_, out_);
  if (mla_.q_lora_rank > 0) norm(mla_.q_lora_rank, "query norm", false);
  linear.column_forward(mla_.q_lora_rank > 0 ? query_up(c_) : query_whole(c_));
  norm(widths(c_).latent, "key and value norm", false);
  linear.column_forward(key_value_up(c_));
  heads_forward();
}

void LatentAttention::forward_again(const KeptMatmuls& keeps) {
  const Widths w = widths(c_);
  TensorParallel linear(c_, out_);
  if (mla_.q_lora_rank > 0) {
    if (!keeps("query down")) linear.full_forward(query_down(c_));
    norm(mla_.q_lora_rank, "query norm", false);
    linear.column_forward_again(query_up(c_), keeps("query up"));
  } else {
    linear.column_forward_again(query_whole(c_), keeps("query"));
  }
  if (!keeps("key and value down")) linear.full_forward(key_value_down(c_));
  if (c_.sp) linear.collective(CollectiveKind::all_gather, c_.tokens * w.rope, "rotary keys all-gather");
  norm(w.latent, "key and value norm", false);
  linear.column_forward_again(key_value_up(c_), keeps("key and value up"));
  heads_forward();
}

void LatentAttention::absorbed_queries() {
  const Widths w = widths(c_);
  if (c_.model.ropes()) {
    const Chain chain = rotation(c_, c_.tokens * (w.rotary + w.rope), false);
    out_.compute(chain.work, "rotary embedding", chain.launches);
  }
  out_.compute(Matmul{c_.tokens, w.latent, mla_.nope_head_dim, c_.heads, c_.operand, c_.storage, false},
               "queries to latent keys");
}

void LatentAttention::absorbed_output() {
  out_.compute(Matmul{c_.tokens, c_.value_head_dim, widths(c_).latent, c_.heads, c_.operand, c_.storage, false},
               "latent values to heads");
}

/// Latent queries and keys with their rotary parts behind them.
void LatentAttention::joined_latents(bool backward) {
  const Widths w = widths(c_);
  const std::int64_t queries = c_.heads * (w.latent + w.rope), keys = w.latent + w.rope;
  out_.compute(copy_of(c_, c_.tokens * (queries + keys)).work,
               backward ? "latent queries and keys gradient" : "latent queries and keys joined", 2);
}

/// Of a matrix that einsum multiplies with, head by head, and that no fused kernel adds to.
void LatentAttention::absorbed_weight_gradient(Matmul product, std::string_view name) {
  SegmentBuilder& out = out_.weights();
  product.pass = Matmul::Pass::weight_gradient;
  out.compute(product, name);
  const Chain add = accumulate_gradient(c_, product.m * product.n * product.batch);
  if (c_.microbatches > 1 || c_.gradient_element != c_.element) {
    out.compute(add.work, "absorbed gradient accumulation", add.launches);
  }
  out_.retain(product.batch * product.k * (product.m + product.n) * c_.element);
}

void LatentAttention::absorbed_queries_gradient() {
  const Widths w = widths(c_);
  const std::int64_t nope = mla_.nope_head_dim;
  Matmul product{c_.tokens, nope, w.latent, c_.heads, c_.operand, c_.storage, false};
  product.pass = Matmul::Pass::input_gradient;
  out_.compute(product, "queries to latent keys input gradient");
  absorbed_weight_gradient({nope, w.latent, c_.tokens, c_.heads, c_.operand, c_.storage, false},
                           "queries to latent keys weight gradient");
  if (!c_.model.ropes()) return;
  const Chain chain = rotation(c_, c_.tokens * (w.rotary + w.rope), true);
  out_.compute(chain.work, "rotary embedding gradient", chain.launches);
}

void LatentAttention::absorbed_output_gradient() {
  const Widths w = widths(c_);
  const std::int64_t values = c_.value_head_dim;
  Matmul product{c_.tokens, w.latent, values, c_.heads, c_.operand, c_.storage, false};
  product.pass = Matmul::Pass::input_gradient;
  out_.compute(product, "latent values to heads input gradient");
  absorbed_weight_gradient({w.latent, values, c_.tokens, c_.heads, c_.operand, c_.storage, false},
                           "latent values to heads weight gradient");
}

void LatentAttention::backward() {
  const Widths w = widths(c_);
  TensorParallel linear(c_, out_);
  if (c_.model.indexer) {
    joined_latents(true);
    absorbed_queries_gradient();
    linear.collective(c_.sp ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, c_.tokens * w.latent,
                      c_.sp ? "latent keys gradient reduce-scatter" : "latent keys gradient all-reduce");
  } else {
    heads_backward();
    linear.column_backward(key_value_up(c_));
  }
  norm(w.latent, "key and value norm gradient", true);
  // Every rank's heads have used the shared rotary keys.
  linear.collective(c_.sp ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, c_.tokens * w.rope,
                    c_.sp ? "rotary keys gradient reduce-scatter" : "rotary keys gradient all-reduce");
  linear.full_backward(key_value_down(c_));
  if (mla_.q_lora_rank > 0) {
    linear.column_backward(query_up(c_));
    norm(mla_.q_lora_rank, "query norm gradient", true);
    linear.full_backward(query_down(c_));
  } else {
    linear.column_backward(query_whole(c_));
  }
  const std::int64_t elements = c_.shard_tokens * c_.hidden;  // both branches' gradients of the normed input
  out_.compute(moves(c_, Kind::elementwise, 2 * elements, elements, 1), "latent branches gradient");
}

std::vector<Placed> latent_linears(const Context& c) {  // absorbed or not, the same matrices
  std::vector<Placed> all{{key_value_down(c), Side::whole}, {key_value_up(c), Side::column}};
  if (c.model.mla->q_lora_rank > 0) {
    all.push_back({query_down(c), Side::whole});
    all.push_back({query_up(c), Side::column});
  } else {
    all.push_back({query_whole(c), Side::column});
  }
  return all;
}

std::int64_t latent_parameters(const Context& c) {
  const spec::Mla& m = *c.model.mla;
  const Widths w = widths(c);
  const auto size = [](const Linear& l) { return l.in * l.out + (l.bias ? l.out : 0); };
  std::int64_t count =
      m.q_lora_rank > 0 ? size(query_down(c)) + size(query_up(c)) + m.q_lora_rank : size(query_whole(c));
  count += size(key_value_down(c)) + size(key_value_up(c)) + w.latent;
  count += c.context_width * c.hidden + (c.model.has_proj_bias() ? c.hidden : 0);
  return count;
}

std::int64_t latent_shared_parameters(const Context& c) {
  if (!c.model.mla || !c.sp) return 0;
  const spec::Mla& m = *c.model.mla;
  if (c.strategy.lora) return c.strategy.lora->qkv ? whole_adapter_parameters(c) : 0;
  const auto size = [](const Linear& l) { return l.in * l.out + (l.bias ? l.out : 0); };
  return (m.q_lora_rank > 0 ? size(query_down(c)) + m.q_lora_rank : 0) + size(key_value_down(c)) + m.kv_lora_rank;
}

std::int64_t latent_activations(const Context& c) {
  const spec::Mla& m = *c.model.mla;
  const Widths w = widths(c);
  const std::int64_t narrow = c.shard_tokens * (2 * m.q_lora_rank + 2 * w.latent);
  if (c.model.indexer) {  // queries, latent ones, latent keys; what attention gave, before the heads' own values
    const std::int64_t latent = c.heads * (2 * w.latent + w.rope) + w.latent + w.rope;
    return (narrow + c.tokens * (w.query + latent)) * c.element;
  }
  const std::int64_t values = pads_values(c) ? w.query : std::int64_t{c.heads} * c.value_head_dim;
  return (narrow + c.tokens * (2 * w.query + values)) * c.element;
}

std::int64_t latent_kept(const Context& c, const KeptMatmuls& keeps) {
  const Widths w = widths(c);
  std::int64_t whole = 0, narrow = 0;  // elements of a token
  if (const std::int64_t rank = c.model.mla->q_lora_rank; rank > 0) {
    if (keeps("query down")) narrow += rank;
    if (keeps("query up")) whole += w.query;
  } else if (keeps("query")) {
    whole += w.query;
  }
  if (keeps("key and value down")) narrow += w.latent + w.rope;
  if (keeps("key and value up")) whole += w.key_value;
  return (c.tokens * whole + c.shard_tokens * narrow) * c.element;
}

}  // namespace plan
