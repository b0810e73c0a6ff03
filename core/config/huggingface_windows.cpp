// core/config/huggingface_windows.cpp -- dense architectures whose layers differ in what they see: a window or
// everything, with rotary embedding or without. SPDX-License-Identifier: Apache-2.0
#include "core/config/huggingface_readers.h"
#include "core/config/model_reader.h"

namespace config::huggingface {

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
  read_full_layers(model, config, "sliding_window_pattern", 6);
  model.qk_norm = true;
  model.post_norms = true;
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

/// OLMo 2 with a window in three layers of four.
void olmo3(Model& model, Config& config) {
  olmo2(model, config);
  read_window(model, config, 4096);
  read_full_layers(model, config, "", 4);
}

/// Its norms are where OLMo 2 has them. Layers that see everything have no rotary embedding, where others have a
/// window.
void exaone4(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 102400, .hidden = 4096, .ffn = 16384, .layers = 32, .heads = 32, .kv_heads = 32, .positions = 2048});
  model.qk_norm = true;
  read_window(model, config, 4096);
  if (model.window > 0) read_full_layers_without_rope(model, config, "sliding_window_pattern");
}

void cohere2(Model& model, Config& config) {
  read_cohere(model, config);
  read_window(model, config, 4096);
  read_full_layers_without_rope(model, config, "sliding_window_pattern");
}

/// A window in all layers but those that the file lists.
void ministral(Model& model, Config& config) {
  mistral(model, config);
  read_full_layers(model, config, "", 0);
}

}  // namespace config::huggingface
