// The architectures: one function each for what it has of its own, and the figures that the transformers library takes
// for absent keys. A new one is a function and a row of kArchitectures.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/huggingface_families.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/config/model_reader.h"

namespace config {
namespace {

using spec::Model;
using Config = HuggingFaceConfig;
using Defaults = HuggingFaceDefaults;

// Two families that most others are variants of.

/// Rotary positions, rmsnorm, gated feed-forward; biases of attention and feed-forward by a flag each.
void read_gated(Model& model, Config& config, const Defaults& absent) {
  read_shape(model, config, absent);
  model.gated_mlp = true;
  model.norm = spec::Norm::rmsnorm;
  model.position = spec::Position::rope;
  read_activation(model, config, "hidden_act");
}

void read_attention_bias(Model& model, Config& config, bool absent) {
  model.qkv_bias = model.proj_bias = config.flag("attention_bias", absent);
}

/// Layernorm, one up-projection, a bias everywhere.
void read_plain(Model& model, Config& config, const Defaults& absent, std::string_view activation) {
  read_shape(model, config, absent);
  model.norm = spec::Norm::layernorm;
  model.bias = true;
  read_activation(model, config, activation);
}

void llama(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 32000, .hidden = 4096, .ffn = 11008, .layers = 32, .heads = 32, .positions = 2048});
  read_attention_bias(model, config, false);
  model.bias = config.flag("mlp_bias", false);
}

void mistral(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 32000, .hidden = 4096, .ffn = 14336, .layers = 32, .heads = 32, .kv_heads = 8, .positions = 131072});
  read_window(model, config, 4096);
}

void mixtral(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 32000, .hidden = 4096, .ffn = 14336, .layers = 32, .heads = 32, .kv_heads = 8, .positions = 131072});
  read_window(model, config, 0);
  spec::Moe moe{.experts = 8, .top_k = 2, .ffn = model.ffn};
  config.map.read("num_local_experts", moe.experts, 1, kMostExperts);
  config.map.read("num_experts_per_tok", moe.top_k, 1, kMostExperts);
  check_experts(moe, config.map, "num_experts_per_tok");
  model.moe = moe;
}

/// Qwen's window is in the layers from max_window_layers on, and only when it is switched on.
void read_qwen_window(Model& model, Config& config) {
  if (!config.flag("use_sliding_window", false)) return;
  const std::int64_t full_layers = config.whole("max_window_layers", 28, kMostLayers);
  if (full_layers >= model.layers) return;
  if (full_layers == 0) return read_window(model, config, 4096);
  config.map.fault("max_window_layers", "a window in the last layers alone is not known",
                   "write use_sliding_window: false, or describe the model in a file of its own");
}

void qwen2(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 151936, .hidden = 4096, .ffn = 22016, .layers = 32, .heads = 32, .kv_heads = 32, .positions = 32768});
  model.qkv_bias = true;
  read_qwen_window(model, config);
}

void qwen3(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 151936,
              .hidden = 4096,
              .ffn = 22016,
              .layers = 32,
              .heads = 32,
              .kv_heads = 32,
              .head_dim = 128,
              .positions = 32768});
  read_attention_bias(model, config, false);
  model.qk_norm = true;
  read_qwen_window(model, config);
}

/// mlp_only_layers names layers without experts; those that open the model are first_dense, others are not known.
void read_dense_layers(spec::Moe& moe, Config& config) {
  std::vector<int> dense;
  config.map.read("mlp_only_layers", dense, 0, kMostLayers);
  std::sort(dense.begin(), dense.end());
  for (const int layer : dense) {
    if (layer == moe.first_dense) {
      ++moe.first_dense;
    } else {
      config.map.fault("mlp_only_layers", "layer " + std::to_string(layer) + " is dense, and one before it is not",
                       "dense layers have to be the first ones: [0, 1, 2]");
      return;
    }
  }
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
  config.map.read(renamed ? "num_local_experts" : "num_experts", moe.experts, 1, kMostExperts);
  config.map.read("num_experts_per_tok", moe.top_k, 1, kMostExperts);
  config.map.read("moe_intermediate_size", moe.ffn, 1, kMostFfn);
  config.map.read("decoder_sparse_step", moe.every, 1, kMostLayers);
  read_dense_layers(moe, config);
  check_experts(moe, config.map, "num_experts_per_tok");
  model.moe = moe;
}

void gpt2(Model& model, Config& config) {
  read_plain(model, config, {.vocab = 50257, .hidden = 768, .layers = 12, .heads = 12, .positions = 1024, .tied = true},
             "activation_function");
  model.position = spec::Position::learned;
}

void gpt_neox(Model& model, Config& config) {
  read_plain(model, config,
             {.vocab = 50432, .hidden = 6144, .ffn = 24576, .layers = 44, .heads = 64, .positions = 2048},
             "hidden_act");
  read_attention_bias(model, config, true);
  model.parallel_block = config.flag("use_parallel_residual", true);
}

void opt(Model& model, Config& config) {
  model.activation = spec::Activation::relu;
  read_shape(model, config,
             {.vocab = 50272, .hidden = 768, .ffn = 3072, .layers = 12, .heads = 12, .positions = 2048, .tied = true});
  if (config.map.has("activation_function")) read_activation(model, config, "activation_function");
  model.bias = config.flag("enable_bias", true);
  model.position = spec::Position::learned;
  model.max_positions += 2;  // rows that its table keeps in front
  const std::string mend = "only OPT models with norms in front of each part are known, which all but opt-350m have";
  if (!config.flag("do_layer_norm_before", true)) config.map.fault("do_layer_norm_before", "is false", mend);
  const bool projected = config.map.has("word_embed_proj_dim");
  if (projected && config.whole("word_embed_proj_dim", model.hidden, kMostHidden) != model.hidden) {
    config.map.fault("word_embed_proj_dim", "differs from hidden_size", mend);
  }
}

void bloom(Model& model, Config& config) {
  read_plain(model, config, {.vocab = 250880, .hidden = 64, .layers = 2, .heads = 8, .tied = true}, "hidden_act");
  model.position = spec::Position::alibi;
  model.embedding_norm = true;
}

/// Gemma's own files say hidden_act: gelu, which the library reads as gelu_pytorch_tanh; hidden_activation overrides
/// it.
void read_gemma(Model& model, Config& config, const Defaults& absent) {
  read_shape(model, config, absent);
  model.gated_mlp = true;
  model.norm = spec::Norm::rmsnorm;
  model.activation = spec::Activation::geglu;
  if (config.map.has("hidden_activation")) read_activation(model, config, "hidden_activation");
  read_attention_bias(model, config, false);
}

void gemma(Model& model, Config& config) {
  read_gemma(model, config,
             {.vocab = 256000,
              .hidden = 3072,
              .ffn = 24576,
              .layers = 28,
              .heads = 16,
              .kv_heads = 16,
              .head_dim = 256,
              .positions = 8192,
              .tied = true});
}

void gemma2(Model& model, Config& config) {
  read_gemma(model, config,
             {.vocab = 256000,
              .hidden = 2304,
              .ffn = 9216,
              .layers = 26,
              .heads = 8,
              .kv_heads = 4,
              .head_dim = 256,
              .positions = 8192,
              .tied = true});
  read_window(model, config, 4096);
  model.window_every = 2;
  model.post_norms = true;
}

void read_phi(Model& model, Config& config, const Defaults& absent, std::string_view activation) {
  read_plain(model, config, absent, activation);
  model.parallel_block = true;
  model.norms_in_parallel = 1;
  model.head_bias = true;
  model.qk_norm = config.flag("qk_layernorm", false);
}

void phi(Model& model, Config& config) {
  read_phi(model, config, {.vocab = 51200, .hidden = 2048, .ffn = 8192, .layers = 24, .heads = 32, .positions = 2048},
           "hidden_act");
}

/// Phi's first files, with GPT-2's keys.
void phi_msft(Model& model, Config& config) { read_phi(model, config, {}, "activation_function"); }

void phi3(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 32064, .hidden = 3072, .ffn = 8192, .layers = 32, .heads = 32, .positions = 4096});
  read_window(model, config, 0);
}

void mpt(Model& model, Config& config) {
  const Defaults absent{.vocab = 50368, .hidden = 2048, .layers = 24, .heads = 16, .positions = 2048, .tied = true};
  read_shape(model, config, absent);
  model.ffn = model.hidden * config.whole("expansion_ratio", 4, 64);
  model.norm_bias = false;  // the library builds every layer of MPT without biases
  bool alibi = true;
  if (const Value* attention = config.map.child("attn_config")) {
    MapReader map(*attention, config.map.path_of("attn_config"), config.faults);
    map.read("alibi", alibi);
    map.read("kv_n_heads", model.kv_heads, 1, kMostHeads);
    for (const auto& [key, entry] : attention->entries) map.ignore(key);
    map.finish();
  }
  model.position = alibi ? spec::Position::alibi : spec::Position::learned;
}

/// Latent attention and experts behind a few dense layers. Layers that predict further tokens
/// (num_nextn_predict_layers) are left out, as the library leaves them.
void read_deepseek(Model& model, Config& config, bool balancing_bias) {
  spec::Mla mla;
  mla.q_lora_rank = static_cast<int>(config.whole("q_lora_rank", 1536, kMostHidden));
  config.map.require("kv_lora_rank", mla.kv_lora_rank, 1, kMostHidden);
  config.map.require("qk_rope_head_dim", mla.rope_head_dim, 1, kMostHeadDim);
  config.map.require("qk_nope_head_dim", mla.nope_head_dim, 1, kMostHeadDim);
  config.map.require("v_head_dim", mla.value_head_dim, 1, kMostHeadDim);
  model.mla = mla;
  read_gated(model, config, {});
  model.head_dim = mla.nope_head_dim + mla.rope_head_dim;  // a head_dim in the file is the rotary part's
  spec::Moe moe{.router_bias = balancing_bias};
  config.map.require("n_routed_experts", moe.experts, 1, kMostExperts);
  config.map.require("num_experts_per_tok", moe.top_k, 1, kMostExperts);
  config.map.require("moe_intermediate_size", moe.ffn, 1, kMostFfn);
  config.map.require("first_k_dense_replace", moe.first_dense, 0, kMostLayers);
  moe.shared_experts = static_cast<int>(config.whole("n_shared_experts", 0, kMostExperts));
  moe.shared_ffn = moe.shared_experts * moe.ffn;
  if (config.whole("moe_layer_freq", 1, kMostLayers) != 1) {
    config.map.fault("moe_layer_freq", "dense layers between those with experts are not known", "write 1");
  }
  check_experts(moe, config.map, "num_experts_per_tok");
  model.moe = moe;
}

void deepseek_v2(Model& model, Config& config) { read_deepseek(model, config, false); }
void deepseek_v3(Model& model, Config& config) { read_deepseek(model, config, true); }

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
  model.bias = true;
  model.attention_sinks = true;
  read_window(model, config, 128);
  model.window_every = 2;
  spec::Moe moe{.experts = 128, .top_k = 4, .ffn = model.ffn, .router_bias = true};
  config.map.read("num_local_experts", moe.experts, 1, kMostExperts);
  config.map.read("num_experts_per_tok", moe.top_k, 1, kMostExperts);
  check_experts(moe, config.map, "num_experts_per_tok");
  model.moe = moe;
}

/// Before the "new decoder" (falcon-40b, 180b) all queries share one key and value, or none do.
void falcon(Model& model, Config& config) {
  read_plain(model, config,
             {.vocab = 65024, .hidden = 4544, .layers = 32, .heads = 71, .positions = 2048, .tied = true},
             "activation");
  const bool renewed = config.flag("new_decoder_architecture", false);
  if (!renewed) model.kv_heads = config.flag("multi_query", true) ? 1 : model.heads;
  model.bias = config.flag("bias", false);
  model.parallel_block = renewed || config.flag("parallel_attn", true);
  model.norms_in_parallel = renewed && config.whole("num_ln_in_parallel_attn", 2, 2) != 1 ? 2 : 1;
  model.position = config.flag("alibi", false) ? spec::Position::alibi : spec::Position::rope;
}

constexpr std::array kArchitectures{
    HuggingFaceArchitecture{"bloom", "BloomForCausalLM", bloom},
    HuggingFaceArchitecture{"deepseek_v2", "DeepseekV2ForCausalLM", deepseek_v2},
    HuggingFaceArchitecture{"deepseek_v3", "DeepseekV3ForCausalLM", deepseek_v3},
    HuggingFaceArchitecture{"falcon", "FalconForCausalLM", falcon},
    HuggingFaceArchitecture{"gemma", "GemmaForCausalLM", gemma},
    HuggingFaceArchitecture{"gemma2", "Gemma2ForCausalLM", gemma2},
    HuggingFaceArchitecture{"gpt2", "GPT2LMHeadModel", gpt2},
    HuggingFaceArchitecture{"gpt_neox", "GPTNeoXForCausalLM", gpt_neox},
    HuggingFaceArchitecture{"gpt_oss", "GptOssForCausalLM", gpt_oss},
    HuggingFaceArchitecture{"llama", "LlamaForCausalLM", llama},
    HuggingFaceArchitecture{"mistral", "MistralForCausalLM", mistral},
    HuggingFaceArchitecture{"mixtral", "MixtralForCausalLM", mixtral},
    HuggingFaceArchitecture{"mpt", "MPTForCausalLM", mpt},
    HuggingFaceArchitecture{"opt", "OPTForCausalLM", opt},
    HuggingFaceArchitecture{"phi", "PhiForCausalLM", phi},
    HuggingFaceArchitecture{"phi-msft", "PhiForCausalLM", phi_msft},
    HuggingFaceArchitecture{"phi3", "Phi3ForCausalLM", phi3},
    HuggingFaceArchitecture{"qwen2", "Qwen2ForCausalLM", qwen2},
    HuggingFaceArchitecture{"qwen3", "Qwen3ForCausalLM", qwen3},
    HuggingFaceArchitecture{"qwen3_moe", "Qwen3MoeForCausalLM", qwen3_moe},
};

}  // namespace

std::span<const HuggingFaceArchitecture> huggingface_architectures() { return kArchitectures; }

}  // namespace config
