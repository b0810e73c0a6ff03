// SPDX-License-Identifier: Apache-2.0
#include "core/config/huggingface_readers.h"

#include "core/config/model_reader.h"

namespace config::huggingface {

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

namespace {

/// Qwen's window is in the layers from max_window_layers on, and only when it is switched on.
void read_qwen_window(Model& model, Config& config) {
  if (!config.flag("use_sliding_window", false)) return;
  const std::int64_t full_layers = config.whole("max_window_layers", 28, spec::kMostLayers);
  if (full_layers >= model.layers) return;
  if (full_layers == 0) return read_window(model, config, 4096);
  config.map.fault("max_window_layers", "a window in the last layers alone is not known",
                   "write use_sliding_window: false, or describe the model in a file of its own");
}

}  // namespace

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

void gptj(Model& model, Config& config) {
  read_plain(model, config, {.vocab = 50400, .hidden = 4096, .layers = 28, .heads = 16, .positions = 2048},
             "activation_function");
  model.qkv_bias = model.proj_bias = false;
  model.parallel_block = true;
  model.norms_in_parallel = 1;
  model.head_bias = true;
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
  if (projected && config.whole("word_embed_proj_dim", model.hidden, spec::kMostHidden) != model.hidden) {
    config.map.fault("word_embed_proj_dim", "differs from hidden_size", mend);
  }
}

void bloom(Model& model, Config& config) {
  read_plain(model, config, {.vocab = 250880, .hidden = 64, .layers = 2, .heads = 8, .tied = true}, "hidden_act");
  model.position = spec::Position::alibi;
  model.embedding_norm = true;
}

namespace {

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

}  // namespace

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
  read_window_layers(model, config);
  model.post_norms = true;
}

/// Five layers with a window, then one without; later files list the kinds of all layers.
void gemma3_text(Model& model, Config& config) {
  read_gemma(model, config,
             {.vocab = 262208,
              .hidden = 2304,
              .ffn = 9216,
              .layers = 26,
              .heads = 8,
              .kv_heads = 4,
              .head_dim = 256,
              .positions = 131072,
              .tied = true});
  read_window(model, config, 4096);
  model.full_every = config.map.has("layer_types")
                         ? every_nth(config, "layer_types", "full_attention")
                         : static_cast<int>(config.whole("sliding_window_pattern", 6, spec::kMostLayers));
  model.qk_norm = true;
  model.post_norms = true;
}

void gemma3(Model& model, Config& config) { read_text_part(model, config, gemma3_text); }

namespace {

void read_phi(Model& model, Config& config, const Defaults& absent, std::string_view activation) {
  read_plain(model, config, absent, activation);
  model.parallel_block = true;
  model.norms_in_parallel = 1;
  model.head_bias = true;
  model.qk_norm = config.flag("qk_layernorm", false);
}

}  // namespace

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
    map.read("kv_n_heads", model.kv_heads, 1, spec::kMostHeads);
    for (const auto& [key, entry] : attention->entries) map.ignore(key);
    map.finish();
  }
  model.position = alibi ? spec::Position::alibi : spec::Position::learned;
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

void nemotron(Model& model, Config& config) {
  model.activation = spec::Activation::squared_relu;
  read_shape(model, config,
             {.vocab = 256000, .hidden = 6144, .ffn = 24576, .layers = 32, .heads = 48, .positions = 4096});
  if (config.map.has("hidden_act")) read_activation(model, config, "hidden_act");
  model.norm = spec::Norm::layernorm;
  read_attention_bias(model, config, false);
  model.bias = config.flag("mlp_bias", false);
}

/// Its norms are behind attention and feed-forward, as many and as wide as others have in front.
void olmo2(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 50304, .hidden = 4096, .ffn = 11008, .layers = 32, .heads = 32, .positions = 2048});
  read_attention_bias(model, config, false);
  model.qk_norm = true;
  model.qk_scale = spec::QkScale::width;
}

void smollm3(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 128256,
              .hidden = 2048,
              .ffn = 11008,
              .layers = 36,
              .heads = 16,
              .kv_heads = 4,
              .positions = 32768,
              .tied = true});
  read_attention_bias(model, config, false);
  model.bias = config.flag("mlp_bias", false);
  model.nope_every = read_nope_every(config);
  if (config.flag("use_sliding_window", false)) {
    config.map.fault("use_sliding_window", "a window in the layers without rotary embedding is not known",
                     "write false, or describe the model in a file of its own");
  }
}

}  // namespace config::huggingface
