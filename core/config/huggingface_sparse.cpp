// core/config/huggingface_sparse.cpp -- architectures with experts in some layers: in every n-th, or behind dense ones.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "core/config/huggingface_readers.h"
#include "core/config/model_reader.h"

namespace config::huggingface {

namespace {

/// Qwen's experts; `shared`: width of those that all tokens visit, whose sum a gate scales, 0: it has none.
void read_qwen_experts(Model& model, Config& config, spec::Moe moe, std::int64_t shared) {
  const bool renamed = config.map.has("num_local_experts");  // by later versions of the library
  read_experts(moe, config,
               {.experts = renamed ? "num_local_experts" : "num_experts", .shared = "", .first_dense = ""});
  if (shared > 0) {
    moe.shared_ffn = config.whole("shared_expert_intermediate_size", shared, spec::kMostFfn);
    moe.shared_experts = moe.shared_ffn > 0 ? 1 : 0;
    moe.shared_gate = moe.shared_ffn > 0;
  }
  config.map.read("decoder_sparse_step", moe.every, 1, spec::kMostLayers);
  read_dense_layers(moe, config);
  model.moe = moe;
}

}  // namespace

void qwen2_moe(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 151936, .hidden = 2048, .ffn = 5632, .layers = 24, .heads = 16, .kv_heads = 16, .positions = 32768});
  model.qkv_bias = config.flag("qkv_bias", true);
  model.proj_bias = false;
  if (config.flag("use_sliding_window", false)) {
    config.map.fault("use_sliding_window", "a window in the layers that this architecture chooses is not known",
                     "write false, or describe the model in a file of its own");
  }
  read_qwen_experts(model, config, {.experts = 60, .top_k = 4, .ffn = 1408}, 5632);
}

void qwen3_moe(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 151936, .hidden = 2048, .ffn = 6144, .layers = 24, .heads = 32, .kv_heads = 4, .positions = 32768});
  read_attention_bias(model, config, false);
  model.qk_norm = true;
  if (config.flag("use_sliding_window", false)) read_window(model, config, 4096);  // in every layer
  read_qwen_experts(model, config, {.experts = 128, .top_k = 8, .ffn = 768}, 0);
}

void qwen3_vl_moe_text(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 151936, .hidden = 2048, .ffn = 5632, .layers = 24, .heads = 16, .kv_heads = 16, .positions = 128000});
  read_attention_bias(model, config, false);
  model.qk_norm = true;
  read_qwen_experts(model, config, {.experts = 60, .top_k = 4, .ffn = 1408}, 0);
}

/// Experts from one layer to the last, in every n-th.
void ernie4_5_moe(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 103424,
              .hidden = 2560,
              .ffn = 12288,
              .layers = 28,
              .heads = 20,
              .kv_heads = 4,
              .positions = 131072,
              .tied = true});
  model.bias = model.head_bias = config.flag("use_bias", false);
  spec::Moe moe{.experts = 64, .top_k = 6, .ffn = 1536, .shared_experts = 2, .first_dense = 1, .router_bias = true};
  read_experts(moe, config,
               {.experts = "moe_num_experts",
                .top_k = "moe_k",
                .shared = "moe_num_shared_experts",
                .first_dense = "moe_layer_start_index"});
  config.map.read("moe_layer_interval", moe.every, 1, spec::kMostLayers);
  int last = -1;
  config.map.read("moe_layer_end_index", last, -1, spec::kMostLayers);
  if (last >= 0 && last < model.layers - 1) {
    config.map.fault("moe_layer_end_index", "dense layers behind those with experts are not known",
                     "write -1, or the last layer's number, " + std::to_string(model.layers - 1));
  }
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

}  // namespace config::huggingface
