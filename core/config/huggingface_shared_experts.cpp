// core/config/huggingface_shared_experts.cpp -- architectures of the kind that DeepSeek began: experts behind a few
// dense layers, others that all tokens visit, a balancing bias. SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/config/huggingface_readers.h"
#include "core/config/model_reader.h"

namespace config::huggingface {
namespace {

void read_latent_attention(Model& model, Config& config) {
  spec::Mla mla;
  mla.q_lora_rank = static_cast<int>(config.whole("q_lora_rank", 1536, spec::kMostHidden));
  config.map.require("kv_lora_rank", mla.kv_lora_rank, 1, spec::kMostHidden);
  config.map.require("qk_rope_head_dim", mla.rope_head_dim, 1, spec::kMostHeadDim);
  config.map.require("qk_nope_head_dim", mla.nope_head_dim, 1, spec::kMostHeadDim);
  config.map.require("v_head_dim", mla.value_head_dim, 1, spec::kMostHeadDim);
  model.mla = mla;
  read_gated(model, config, {});
  read_attention_bias(model, config, false);
  model.head_dim = mla.nope_head_dim + mla.rope_head_dim;  // a head_dim in the file is the rotary part's
}

/// Layers that predict further tokens (num_nextn_predict_layers) are left out, as the library leaves them.
spec::Moe read_deepseek_experts(Config& config, bool balancing_bias) {
  spec::Moe moe{.router_bias = balancing_bias};
  read_experts(moe, config, {});
  if (config.whole("moe_layer_freq", 1, spec::kMostLayers) != 1) {
    config.map.fault("moe_layer_freq", "dense layers between those with experts are not known", "write 1");
  }
  return moe;
}

/// Kinds of the layers' feed-forwards: dense ones may open the model.
void read_mlp_layer_types(spec::Moe& moe, Config& config) {
  const Value* list = config.map.child("mlp_layer_types");
  if (!list) return;
  moe.first_dense = 0;
  for (std::size_t layer = 0; layer < list->items.size(); ++layer) {
    if (list->items[layer].text != "dense") continue;
    if (static_cast<int>(layer) == moe.first_dense) {
      ++moe.first_dense;
      continue;
    }
    return config.map.fault("mlp_layer_types", "layer " + std::to_string(layer) + " is dense, and one before it is not",
                            "dense layers have to be the first ones");
  }
}

/// GLM-4.5's experts under its keys; attention differs.
void read_glm_experts(Model& model, Config& config, spec::Moe moe) {
  read_experts(moe, config, {});
  read_groups(moe, config, 1, 1);
  model.moe = moe;
}

/// GLM with latent attention. `first_dense`: unless the file says so.
void read_latent_glm(Model& model, Config& config, int first_dense) {
  read_latent_attention(model, config);
  spec::Moe moe{.shared_experts = 1, .first_dense = first_dense, .router_bias = true};
  read_experts(moe, config, {});
  read_mlp_layer_types(moe, config);
  read_groups(moe, config, 1, 1);
  model.moe = moe;
}

}  // namespace

/// DeepSeek-MoE 16B: plain attention.
void deepseek(Model& model, Config& config) {
  read_gated(model, config, {});
  read_attention_bias(model, config, false);
  model.moe = read_deepseek_experts(config, false);
}

/// Chooses groups first where its method says so.
void deepseek_v2(Model& model, Config& config) {
  read_latent_attention(model, config);
  spec::Moe moe = read_deepseek_experts(config, false);
  std::string method = "greedy";
  config.map.read("topk_method", method);
  if (method == "group_limited_greedy") read_groups(moe, config, 1, 1);
  model.moe = moe;
}

/// Always chooses groups first, 4 of 8 unless told otherwise.
void deepseek_v3(Model& model, Config& config) {
  read_latent_attention(model, config);
  spec::Moe moe = read_deepseek_experts(config, true);
  read_groups(moe, config, 8, 4);
  model.moe = moe;
}

void deepseek_v32(Model& model, Config& config) {
  deepseek_v3(model, config);
  read_indexer(model, config, 64);
}

/// GLM-5: DeepSeek-V3.2's layers with one group of experts.
void glm_moe_dsa(Model& model, Config& config) {
  read_latent_glm(model, config, 3);
  read_indexer(model, config, 32);
}

/// Mistral Small 4: DeepSeek-V3 whose experts are chosen by softmax, without a balancing bias.
void mistral4(Model& model, Config& config) {
  read_latent_attention(model, config);
  spec::Moe moe = read_deepseek_experts(config, false);
  read_groups(moe, config, 1, 1);
  model.moe = moe;
}

/// GLM-4.7 Flash.
void glm4_moe_lite(Model& model, Config& config) { read_latent_glm(model, config, 1); }

void glm4_moe(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 151552, .hidden = 4096, .ffn = 10944, .layers = 46, .heads = 96, .kv_heads = 8, .positions = 131072});
  model.qkv_bias = config.flag("attention_bias", false);  // its output projection never has one
  model.proj_bias = false;
  model.qk_norm = config.flag("use_qk_norm", false);
  read_glm_experts(
      model, config,
      {.experts = 128, .top_k = 8, .ffn = 1408, .shared_experts = 1, .first_dense = 1, .router_bias = true});
}

/// GLM-4.5V's text part never has a norm of queries and keys.
void glm4v_moe_text(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 151424, .hidden = 4096, .ffn = 10944, .layers = 46, .heads = 96, .kv_heads = 8, .positions = 65536});
  model.qkv_bias = config.flag("attention_bias", true);
  model.proj_bias = false;
  read_glm_experts(
      model, config,
      {.experts = 128, .top_k = 8, .ffn = 1408, .shared_experts = 1, .first_dense = 1, .router_bias = true});
}

/// All layers have experts.
void solar_open(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 196608,
              .hidden = 4096,
              .ffn = 10240,
              .layers = 48,
              .heads = 64,
              .kv_heads = 8,
              .head_dim = 128,
              .positions = 131072});
  model.qkv_bias = config.flag("attention_bias", false);
  model.proj_bias = false;
  spec::Moe moe{.experts = 128, .top_k = 8, .ffn = 1280, .shared_experts = 1, .router_bias = true};
  read_experts(moe, config, {.first_dense = ""});
  read_groups(moe, config, 1, 1);
  model.ffn = moe.ffn;
  model.moe = moe;
}

void dots1(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 152064, .hidden = 4608, .ffn = 10944, .layers = 62, .heads = 32, .kv_heads = 32, .positions = 2048});
  read_attention_bias(model, config, false);
  model.qk_norm = true;
  if (!config.is_null("sliding_window")) read_last_window(model, config, 62);
  spec::Moe moe{.ffn = 1408, .router_bias = true};
  read_experts(moe, config, {.first_dense = ""});
  config.map.read("first_k_dense_replace", moe.first_dense, 0, spec::kMostLayers);
  read_groups(moe, config, 1, 1);
  model.moe = moe;
}

/// K-EXAONE: EXAONE 4's attention, with norms in front.
void exaone_moe(Model& model, Config& config) {
  exaone4(model, config);
  spec::Moe moe{.experts = 64, .top_k = 8, .ffn = 1024, .shared_experts = 1, .first_dense = 1, .router_bias = true};
  read_experts(moe, config, {.experts = "num_experts", .shared = "num_shared_experts"});
  read_mlp_layer_types(moe, config);
  read_groups(moe, config, 1, 1);
  model.moe = moe;
}

/// Tencent's Hy3.
void hy_v3(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 120832,
              .hidden = 4096,
              .ffn = 13312,
              .layers = 80,
              .heads = 64,
              .kv_heads = 8,
              .head_dim = 128,
              .positions = 131072});
  read_attention_bias(model, config, false);
  model.qk_norm = true;
  spec::Moe moe{.experts = 192, .top_k = 8, .ffn = 1536, .shared_experts = 1, .first_dense = 1, .router_bias = true};
  read_experts(moe, config, {.experts = "num_experts", .shared = "num_shared_experts"});
  read_mlp_layer_types(moe, config);
  model.moe = moe;
}

/// Arcee's Trinity: a gate on attention's output, norms in front and behind, windows in layers with rotary embedding.
void afmoe(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 200192, .hidden = 2048, .ffn = 6144, .layers = 32, .heads = 16, .head_dim = 128, .positions = 16384});
  model.attention_gate = true;
  model.qk_norm = true;
  model.post_norms = true;
  read_window(model, config, 1024);
  read_full_layers_without_rope(model, config, "global_attn_every_n_layers");
  spec::Moe moe{.experts = 64, .top_k = 6, .ffn = 1408, .shared_experts = 2, .first_dense = 1, .router_bias = true};
  read_experts(moe, config,
               {.experts = "num_experts", .shared = "num_shared_experts", .first_dense = "num_dense_layers"});
  model.moe = moe;
}

}  // namespace config::huggingface
