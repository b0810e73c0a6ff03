// SPDX-License-Identifier: Apache-2.0
#include "core/config/huggingface_readers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/config/model_reader.h"

namespace config::huggingface {

void mixtral(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 32000, .hidden = 4096, .ffn = 14336, .layers = 32, .heads = 32, .kv_heads = 8, .positions = 131072});
  read_window(model, config, 0);
  spec::Moe moe{.experts = 8, .top_k = 2, .ffn = model.ffn};
  config.map.read("num_local_experts", moe.experts, 1, spec::kMostExperts);
  config.map.read("num_experts_per_tok", moe.top_k, 1, spec::kMostExperts);
  check_experts(moe, config.map, "num_experts_per_tok");
  model.moe = moe;
}

void qwen3_moe(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 151936, .hidden = 2048, .ffn = 6144, .layers = 24, .heads = 32, .kv_heads = 4, .positions = 32768});
  read_attention_bias(model, config, false);
  model.qk_norm = true;
  if (config.flag("use_sliding_window", false)) read_window(model, config, 4096);  // in every layer
  spec::Moe moe{.experts = 128, .top_k = 8, .ffn = 768};
  const bool renamed = config.map.has("num_local_experts");  // by later versions of the library
  config.map.read(renamed ? "num_local_experts" : "num_experts", moe.experts, 1, spec::kMostExperts);
  config.map.read("num_experts_per_tok", moe.top_k, 1, spec::kMostExperts);
  config.map.read("moe_intermediate_size", moe.ffn, 1, spec::kMostFfn);
  config.map.read("decoder_sparse_step", moe.every, 1, spec::kMostLayers);
  read_dense_layers(moe, config);
  check_experts(moe, config.map, "num_experts_per_tok");
  model.moe = moe;
}

namespace {

/// V3 always chooses groups first, 4 of 8 unless told otherwise; V2 where its method says so. `groups`: of V3's kin.
void read_groups(spec::Moe& moe, Config& config, bool always, int groups_of_kin) {
  std::string method = always ? "group_limited" : "greedy";
  config.map.read("topk_method", method);
  const bool limited = always || method == "group_limited_greedy";
  const int groups = static_cast<int>(config.whole("n_group", always ? groups_of_kin : 1, spec::kMostExperts));
  const int top =
      static_cast<int>(config.whole("topk_group", always ? (groups_of_kin + 1) / 2 : 1, spec::kMostExperts));
  if (!limited || groups <= 1 || groups == top) return;
  moe.groups = groups;
  moe.top_groups = top;
  check_groups(moe, config.map, "n_group", "topk_group");
}

/// Latent attention and experts behind a few dense layers. Layers that predict further tokens
/// (num_nextn_predict_layers) are left out, as the library leaves them.
void read_deepseek(Model& model, Config& config, bool balancing_bias, int groups = 8) {
  spec::Mla mla;
  mla.q_lora_rank = static_cast<int>(config.whole("q_lora_rank", 1536, spec::kMostHidden));
  config.map.require("kv_lora_rank", mla.kv_lora_rank, 1, spec::kMostHidden);
  config.map.require("qk_rope_head_dim", mla.rope_head_dim, 1, spec::kMostHeadDim);
  config.map.require("qk_nope_head_dim", mla.nope_head_dim, 1, spec::kMostHeadDim);
  config.map.require("v_head_dim", mla.value_head_dim, 1, spec::kMostHeadDim);
  model.mla = mla;
  read_gated(model, config, {});
  model.head_dim = mla.nope_head_dim + mla.rope_head_dim;  // a head_dim in the file is the rotary part's
  spec::Moe moe{.router_bias = balancing_bias};
  config.map.require("n_routed_experts", moe.experts, 1, spec::kMostExperts);
  config.map.require("num_experts_per_tok", moe.top_k, 1, spec::kMostExperts);
  config.map.require("moe_intermediate_size", moe.ffn, 1, spec::kMostFfn);
  config.map.require("first_k_dense_replace", moe.first_dense, 0, spec::kMostLayers);
  moe.shared_experts = static_cast<int>(config.whole("n_shared_experts", 0, spec::kMostExperts));
  moe.shared_ffn = moe.shared_experts * moe.ffn;
  if (config.whole("moe_layer_freq", 1, spec::kMostLayers) != 1) {
    config.map.fault("moe_layer_freq", "dense layers between those with experts are not known", "write 1");
  }
  check_experts(moe, config.map, "num_experts_per_tok");
  read_groups(moe, config, balancing_bias, groups);
  model.moe = moe;
}

}  // namespace

void deepseek_v2(Model& model, Config& config) { read_deepseek(model, config, false); }
void deepseek_v3(Model& model, Config& config) { read_deepseek(model, config, true); }

namespace {

/// Layers of kind "full" have an indexer, "shared" ones use the choice of the one before: the first
/// index_skip_topk_offset, then every index_topk_freq-th, whether listed or counted.
void read_shared_indices(spec::Indexer& indexer, const Model& model, Config& config) {
  indexer.every = static_cast<int>(config.whole("index_topk_freq", 1, spec::kMostLayers));
  if (indexer.every < 1) indexer.every = 1;
  indexer.first = std::max(1, static_cast<int>(config.whole("index_skip_topk_offset", 2, spec::kMostLayers)));
  if (!indexer.shares()) indexer.first = 1;
  const Value* listed = config.map.child("indexer_types");
  if (listed == nullptr || listed->kind != Value::Kind::list) return;
  bool same = static_cast<int>(listed->items.size()) == model.layers;
  for (int layer = 0; same && layer < model.layers; ++layer) {
    same = (listed->items[static_cast<std::size_t>(layer)].text == "full") == indexer.in_layer(layer);
  }
  if (same) return;
  config.map.fault("indexer_types", "is not what index_topk_freq and index_skip_topk_offset count",
                   "write the first layers and every n-th behind them as full, and both numbers");
}

void read_indexer(Model& model, Config& config, int heads) {
  spec::Indexer indexer{.heads = heads, .head_dim = 128, .top_k = 2048};
  config.map.read("index_n_heads", indexer.heads, 1, spec::kMostHeads);
  config.map.read("index_head_dim", indexer.head_dim, 1, spec::kMostHeadDim);
  config.map.read("index_topk", indexer.top_k, 1, spec::kMostPositions);
  read_shared_indices(indexer, model, config);
  model.indexer = indexer;
  if (model.mla->q_lora_rank == 0) {
    config.map.fault("q_lora_rank", "is 0, and the indexer's queries are made of the compressed ones",
                     "write the rank");
  }
}

}  // namespace

void deepseek_v32(Model& model, Config& config) {
  read_deepseek(model, config, true);
  read_indexer(model, config, 64);
}

/// GLM-5: DeepSeek-V3.2's layers with one group of experts.
void glm_moe_dsa(Model& model, Config& config) {
  read_deepseek(model, config, true, 1);
  read_indexer(model, config, 32);
}

void gpt_oss(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 201088,
              .hidden = 2880,
              .ffn = 2880,
              .layers = 36,
              .heads = 64,
              .kv_heads = 8,
              .head_dim = 64,
              .positions = 131072});
  read_attention_bias(model, config, true);
  model.activation = spec::Activation::clamped_swiglu;
  model.bias = true;
  model.attention_sinks = true;
  read_window(model, config, 128);
  read_window_layers(model, config);
  spec::Moe moe{.experts = 128, .top_k = 4, .ffn = model.ffn, .router_bias = true};
  config.map.read("num_local_experts", moe.experts, 1, spec::kMostExperts);
  config.map.read("num_experts_per_tok", moe.top_k, 1, spec::kMostExperts);
  check_experts(moe, config.map, "num_experts_per_tok");
  model.moe = moe;
}

namespace {

/// The library lists the layers with experts, or counts from one to the next: both must say the same here.
void check_expert_layers(const Model& model, Config& config) {
  std::vector<int> listed, counted;
  if (!config.map.read("moe_layers", listed, 0, spec::kMostLayers)) return;
  for (int layer = 0; layer < model.layers; ++layer) {
    if (model.moe->in_layer(layer)) counted.push_back(layer);
  }
  if (listed == counted) return;
  config.map.fault("moe_layers", "is not every layer that interleave_moe_layer_step counts",
                   "write every n-th layer, and n as interleave_moe_layer_step");
}

}  // namespace

/// Layers with rotary embedding attend in chunks, those without see everything.
void llama4_text(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 202048,
              .hidden = 5120,
              .ffn = 8192,
              .layers = 48,
              .heads = 40,
              .kv_heads = 8,
              .head_dim = 128,
              .positions = 131072});
  read_attention_bias(model, config, false);
  model.qk_norm = config.flag("use_qk_norm", true);
  if (model.qk_norm) model.qk_scale = spec::QkScale::none;
  model.nope_every = read_nope_every(config);
  model.attention_chunk = config.whole("attention_chunk_size", 8192, spec::kMostPositions);
  model.full_every =
      config.map.has("layer_types") ? every_nth(config, "layer_types", "full_attention") : model.nope_every;
  spec::Moe moe{.experts = 16, .top_k = 1, .ffn = model.ffn, .shared_experts = 1, .shared_ffn = model.ffn};
  config.map.read("num_local_experts", moe.experts, 1, spec::kMostExperts);
  config.map.read("num_experts_per_tok", moe.top_k, 1, spec::kMostExperts);
  config.map.read("interleave_moe_layer_step", moe.every, 1, spec::kMostLayers);
  check_experts(moe, config.map, "num_experts_per_tok");
  model.moe = moe;
  check_expert_layers(model, config);
  model.ffn = 16384;
  config.map.read("intermediate_size_mlp", model.ffn, 1, spec::kMostFfn);
}

void llama4(Model& model, Config& config) { read_text_part(model, config, llama4_text); }

void glm4_moe(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 151552, .hidden = 4096, .ffn = 10944, .layers = 46, .heads = 96, .kv_heads = 8, .positions = 131072});
  model.qkv_bias = config.flag("attention_bias", false);  // its output projection never has one
  model.proj_bias = false;
  model.qk_norm = config.flag("use_qk_norm", false);
  spec::Moe moe{.experts = 128, .top_k = 8, .ffn = 1408, .shared_experts = 1, .first_dense = 1, .router_bias = true};
  config.map.read("n_routed_experts", moe.experts, 1, spec::kMostExperts);
  config.map.read("num_experts_per_tok", moe.top_k, 1, spec::kMostExperts);
  config.map.read("moe_intermediate_size", moe.ffn, 1, spec::kMostFfn);
  config.map.read("n_shared_experts", moe.shared_experts, 0, spec::kMostExperts);
  config.map.read("first_k_dense_replace", moe.first_dense, 0, spec::kMostLayers);
  moe.shared_ffn = moe.shared_experts * moe.ffn;
  check_experts(moe, config.map, "num_experts_per_tok");
  model.moe = moe;
}

void dbrx(Model& model, Config& config) {
  read_shape(model, config, {.vocab = 32000, .hidden = 2048, .layers = 24, .heads = 16, .positions = 2048});
  model.gated_mlp = true;
  model.activation = spec::Activation::swiglu;
  model.norm = spec::Norm::layernorm;
  model.norm_bias = false;
  model.kv_heads = 1;
  spec::Moe moe{.experts = 4, .top_k = 1, .ffn = 3584};
  if (const Value* attention = config.map.child("attn_config")) {
    MapReader map(*attention, config.map.path_of("attn_config"), config.faults);
    map.read("kv_n_heads", model.kv_heads, 1, spec::kMostHeads);
    for (const auto& [key, entry] : attention->entries) map.ignore(key);
    map.finish();
  }
  if (const Value* feed_forward = config.map.child("ffn_config")) {
    MapReader map(*feed_forward, config.map.path_of("ffn_config"), config.faults);
    map.read("moe_num_experts", moe.experts, 1, spec::kMostExperts);
    map.read("moe_top_k", moe.top_k, 1, spec::kMostExperts);
    map.read("ffn_hidden_size", moe.ffn, 1, spec::kMostFfn);
    if (const Value* function = map.child("ffn_act_fn")) {
      MapReader inner(*function, map.path_of("ffn_act_fn"), config.faults);
      Config activation{*function, inner, config.faults, config.assumptions};
      read_activation(model, activation, "name");
      for (const auto& [key, entry] : function->entries) inner.ignore(key);
      inner.finish();
    }
    for (const auto& [key, entry] : feed_forward->entries) map.ignore(key);
    map.finish();
    check_experts(moe, map, "moe_top_k");
  }
  model.ffn = moe.ffn;
  model.moe = moe;
}

}  // namespace config::huggingface
