// core/config/huggingface_experts.cpp -- architectures with experts in every layer.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "core/config/huggingface_readers.h"
#include "core/config/model_reader.h"

namespace config::huggingface {

namespace {

/// Experts in every layer, as wide as the file says a feed-forward is.
void read_only_experts(Model& model, Config& config, std::string_view key, spec::Moe moe) {
  moe.ffn = model.ffn;
  read_experts(moe, config, {.experts = key, .ffn = "", .shared = "", .first_dense = ""});
  model.moe = moe;
}

}  // namespace

void mixtral(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 32000, .hidden = 4096, .ffn = 14336, .layers = 32, .heads = 32, .kv_heads = 8, .positions = 131072});
  read_window(model, config, 0);
  read_only_experts(model, config, "num_local_experts", {.experts = 8, .top_k = 2});
}

void olmoe(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 50304, .hidden = 2048, .ffn = 2048, .layers = 16, .heads = 16, .positions = 4096});
  read_attention_bias(model, config, false);
  model.qk_norm = true;
  model.qk_scale = spec::QkScale::width;
  read_only_experts(model, config, "num_experts", {.experts = 64, .top_k = 8});
}

void minimax_m2(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 200064,
              .hidden = 3072,
              .ffn = 1536,
              .layers = 62,
              .heads = 48,
              .kv_heads = 8,
              .head_dim = 128,
              .positions = 196608});
  model.qk_norm = true;
  model.qk_scale = spec::QkScale::width;
  read_only_experts(model, config, "num_local_experts", {.experts = 256, .top_k = 8, .router_bias = true});
}

void granitemoe(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 32000, .hidden = 4096, .ffn = 11008, .layers = 32, .heads = 32, .positions = 2048});
  read_attention_bias(model, config, false);
  read_only_experts(model, config, "num_local_experts", {.experts = 8, .top_k = 2});
}

/// Granite with a feed-forward beside the experts.
void granitemoeshared(Model& model, Config& config) {
  granitemoe(model, config);
  model.moe->shared_ffn = config.whole("shared_intermediate_size", 1024, spec::kMostFfn);
  model.moe->shared_experts = model.moe->shared_ffn > 0 ? 1 : 0;
}

/// Phi-3.5-MoE: layernorms, and biases on attention and head where the file says so.
void phimoe(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 32064, .hidden = 4096, .ffn = 6400, .layers = 32, .heads = 32, .kv_heads = 8, .positions = 131072});
  model.norm = spec::Norm::layernorm;
  read_attention_bias(model, config, false);
  model.head_bias = config.flag("lm_head_bias", false);
  read_window(model, config, 0);
  read_only_experts(model, config, "num_local_experts", {.experts = 16, .top_k = 2});
}

namespace {

/// A figure of all layers, or a list with the same for each.
void read_alike(Config& config, std::string_view key, std::int64_t& out, std::int64_t max) {
  const Value* value = config.value.find(key);
  if (!value || value->kind != Value::Kind::list) {
    config.map.read(key, out, 1, max);
    return;
  }
  std::vector<int> list;
  if (!config.map.read(key, list, 1, max) || list.empty()) return;
  out = list.front();
  if (std::ranges::all_of(list, [&](int one) { return one == list.front(); })) return;
  config.map.fault(key, "differs from layer to layer, which is not known", "write one figure for all layers");
}

}  // namespace

/// Hunyuan A13B: a shared expert as wide as another, in every layer; the library goes by intermediate_size alone.
void hunyuan_v1_moe(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 290943, .hidden = 4096, .ffn = 11008, .layers = 32, .heads = 32, .positions = 2048});
  read_attention_bias(model, config, false);
  read_hunyuan_attention(model, config);
  std::int64_t experts = 1, top_k = 1, shared = 1, width = model.ffn, dense = 0;
  read_alike(config, "num_experts", experts, spec::kMostExperts);
  read_alike(config, "moe_topk", top_k, spec::kMostExperts);
  read_alike(config, "num_shared_expert", shared, spec::kMostExperts);
  read_alike(config, "moe_intermediate_size", width, spec::kMostFfn);
  config.map.read("moe_layer_num_skipped", dense, 0, spec::kMostLayers);
  const std::string mend = "the library builds no such layer; describe the model in a file of its own";
  if (shared != 1) config.map.fault("num_shared_expert", "is not 1", mend);
  if (width != model.ffn) config.map.fault("moe_intermediate_size", "differs from intermediate_size", mend);
  if (dense != 0) config.map.fault("moe_layer_num_skipped", "is not 0", mend);
  spec::Moe moe{.experts = static_cast<int>(experts),
                .top_k = static_cast<int>(top_k),
                .ffn = model.ffn,
                .shared_experts = 1,
                .shared_ffn = model.ffn};
  check_experts(moe, config.map, "moe_topk");
  model.moe = moe;
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
  read_only_experts(model, config, "num_local_experts", {.experts = 128, .top_k = 4, .router_bias = true});
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
