// SPDX-License-Identifier: Apache-2.0
#include "core/config/model_writer.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

namespace config {
namespace {

const char* name_of(spec::QkScale scale) {
  switch (scale) {
    case spec::QkScale::head: return "true";
    case spec::QkScale::width: return "width";
    case spec::QkScale::none: return "unscaled";
  }
  return "";
}

void add(Value& map, const char* key, const std::string& text) { map.set(key, scalar(text)); }
void add(Value& map, const char* key, const char* text) { add(map, key, std::string(text)); }
void add(Value& map, const char* key, bool value) { add(map, key, value ? "true" : "false"); }
void add(Value& map, const char* key, std::int64_t value) { add(map, key, std::to_string(value)); }
void add(Value& map, const char* key, int value) { add(map, key, std::int64_t{value}); }
void add(Value& map, const char* key, double value) { add(map, key, fmt::format("{}", value)); }

Value tree_of(const spec::Moe& moe) {
  Value map;
  add(map, "experts", moe.experts);
  add(map, "top_k", moe.top_k);
  add(map, "ffn", moe.ffn);
  add(map, "shared_experts", moe.shared_experts);
  add(map, "shared_ffn", moe.shared_ffn);
  add(map, "first_dense", moe.first_dense);
  add(map, "every", moe.every);
  add(map, "groups", moe.groups);
  add(map, "top_groups", moe.top_groups);
  add(map, "router_bias", moe.router_bias);
  add(map, "latent", moe.latent);
  add(map, "shared_gate", moe.shared_gate);
  return map;
}

Value tree_of(const spec::Mla& mla) {
  Value map;
  add(map, "q_lora_rank", mla.q_lora_rank);
  add(map, "kv_lora_rank", mla.kv_lora_rank);
  add(map, "rope_head_dim", mla.rope_head_dim);
  add(map, "nope_head_dim", mla.nope_head_dim);
  add(map, "value_head_dim", mla.value_head_dim);
  return map;
}

Value tree_of(const spec::Indexer& indexer) {
  Value map;
  add(map, "heads", indexer.heads);
  add(map, "head_dim", indexer.head_dim);
  add(map, "top_k", indexer.top_k);
  add(map, "first", indexer.first);
  add(map, "every", indexer.every);
  return map;
}

Value tree_of(const spec::Recurrent& r) {
  Value map;
  add(map, "kind", std::string(spec::name(r.kind)));
  add(map, "heads", r.heads);
  add(map, "head_dim", r.head_dim);
  add(map, "groups", r.groups);
  add(map, "state", r.state);
  add(map, "conv", r.conv);
  add(map, "chunk", r.chunk);
  add(map, "attention_every", r.attention_every);
  return map;
}

}  // namespace

Value model_tree(const spec::Model& model) {
  Value map;
  add(map, "name", model.name);
  add(map, "layers", model.layers);
  add(map, "hidden", model.hidden);
  add(map, "heads", model.heads);
  add(map, "kv_heads", model.kv_heads);
  add(map, "head_dim", model.head_dim);
  add(map, "ffn", model.ffn);
  add(map, "gated_mlp", model.gated_mlp);
  add(map, "activation", std::string(name(model.activation)));
  add(map, "vocab", model.vocab);
  add(map, "tied_embeddings", model.tied_embeddings);
  add(map, "norm", std::string(name(model.norm)));
  if (model.norm == spec::Norm::layernorm) add(map, "norm_bias", model.norm_bias);
  add(map, "embedding_norm", model.embedding_norm);
  add(map, "post_norms", model.post_norms);
  add(map, "position", std::string(name(model.position)));
  if (model.rope_scale != 1) add(map, "rope_scale", model.rope_scale);
  add(map, "max_positions", model.max_positions);
  add(map, "bias", model.bias);
  add(map, "qkv_bias", model.has_qkv_bias());
  add(map, "proj_bias", model.has_proj_bias());
  add(map, "head_bias", model.head_bias);
  add(map, "qk_norm", model.qk_norm ? name_of(model.qk_scale) : "false");
  add(map, "causal", model.causal);
  add(map, "window", model.window);
  add(map, "window_every", model.window_every);
  add(map, "attention_chunk", model.attention_chunk);
  add(map, "full_every", model.full_every);
  add(map, "nope_every", model.nope_every);
  add(map, "attention_gate", model.attention_gate);
  add(map, "attention_sinks", model.attention_sinks);
  add(map, "parallel_block", model.parallel_block);
  if (model.parallel_block) add(map, "norms_in_parallel", model.norms_in_parallel);
  add(map, "mtp", model.mtp);
  if (!model.mtp_pattern.empty()) add(map, "mtp_pattern", model.mtp_pattern);
  add(map, "mtp_repeated", model.mtp_repeated);
  if (model.moe) map.set("moe", tree_of(*model.moe));
  if (model.mla) map.set("mla", tree_of(*model.mla));
  if (model.indexer) map.set("indexer", tree_of(*model.indexer));
  if (model.recurrent) map.set("recurrent", tree_of(*model.recurrent));
  if (!model.pattern.empty()) add(map, "pattern", model.pattern);
  return map;
}

}  // namespace config
