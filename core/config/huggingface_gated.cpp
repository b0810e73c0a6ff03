// core/config/huggingface_gated.cpp -- dense architectures of the kind that Llama began: rotary positions, rmsnorm,
// gated feed-forward, layers that are all alike. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "core/config/huggingface_readers.h"
#include "core/config/model_reader.h"

namespace config::huggingface {

namespace {

void read_qwen3(Model& model, Config& config, std::int64_t positions) {
  read_gated(model, config,
             {.vocab = 151936,
              .hidden = 4096,
              .ffn = 22016,
              .layers = 32,
              .heads = 32,
              .kv_heads = 32,
              .head_dim = 128,
              .positions = positions});
  read_attention_bias(model, config, false);
  model.qk_norm = true;
}

}  // namespace

void llama(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 32000, .hidden = 4096, .ffn = 11008, .layers = 32, .heads = 32, .positions = 2048});
  read_attention_bias(model, config, false);
  model.bias = config.flag("mlp_bias", false);
}

void helium(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 48000,
              .hidden = 2560,
              .ffn = 7040,
              .layers = 24,
              .heads = 20,
              .kv_heads = 20,
              .head_dim = 128,
              .positions = 4096});
  model.qkv_bias = config.flag("attention_bias", false);  // its output projection never has one
  model.proj_bias = false;
  model.bias = config.flag("mlp_bias", false);
}

void seed_oss(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 155136,
              .hidden = 4096,
              .ffn = 27648,
              .layers = 64,
              .heads = 80,
              .kv_heads = 8,
              .head_dim = 128,
              .positions = 524288});
  model.qkv_bias = config.flag("attention_bias", true);
  model.proj_bias = config.flag("attention_out_bias", false);
  model.bias = config.flag("mlp_bias", false);
}

void ernie4_5(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 103424,
              .hidden = 1024,
              .ffn = 3072,
              .layers = 18,
              .heads = 16,
              .kv_heads = 2,
              .head_dim = 128,
              .positions = 131072,
              .tied = true});
  model.bias = config.flag("use_bias", false);
}

/// GLM-4 9B of 2024.
void glm(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 151552,
              .hidden = 4096,
              .ffn = 13696,
              .layers = 40,
              .heads = 32,
              .kv_heads = 2,
              .head_dim = 128,
              .positions = 131072});
  model.qkv_bias = config.flag("attention_bias", true);  // its output projection never has one
  model.proj_bias = false;
}

/// GLM-4 9B and 32B of April 2025: further norms behind attention and feed-forward.
void glm4(Model& model, Config& config) {
  glm(model, config);
  model.post_norms = true;
}

void hunyuan_v1_dense(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 290943, .hidden = 4096, .ffn = 11008, .layers = 32, .heads = 32, .positions = 2048});
  read_attention_bias(model, config, false);
  read_hunyuan_attention(model, config);
}

void mistral(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 32000, .hidden = 4096, .ffn = 14336, .layers = 32, .heads = 32, .kv_heads = 8, .positions = 131072});
  read_window(model, config, 4096);
}

void ministral3(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 131072,
              .hidden = 4096,
              .ffn = 14336,
              .layers = 34,
              .heads = 32,
              .kv_heads = 8,
              .head_dim = 128,
              .positions = 262144});
  read_window(model, config, 0);
}

void qwen2(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 151936, .hidden = 4096, .ffn = 22016, .layers = 32, .heads = 32, .kv_heads = 32, .positions = 32768});
  model.qkv_bias = true;
  if (config.flag("use_sliding_window", false)) read_last_window(model, config, 28);
}

void qwen2_vl_text(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 152064, .hidden = 8192, .ffn = 29568, .layers = 80, .heads = 64, .kv_heads = 8, .positions = 32768});
  model.qkv_bias = true;
  if (config.flag("use_sliding_window", false)) read_last_window(model, config, 80);
}

void qwen3(Model& model, Config& config) {
  read_qwen3(model, config, 32768);
  if (config.flag("use_sliding_window", false)) read_last_window(model, config, 28);
}

void qwen3_vl_text(Model& model, Config& config) { read_qwen3(model, config, 128000); }

void phi3(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 32064, .hidden = 3072, .ffn = 8192, .layers = 32, .heads = 32, .positions = 4096});
  read_window(model, config, 0);
}

/// Its norms are behind attention and feed-forward, as many and as wide as others have in front.
void olmo2(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 50304, .hidden = 4096, .ffn = 11008, .layers = 32, .heads = 32, .positions = 2048});
  read_attention_bias(model, config, false);
  model.qk_norm = true;
  model.qk_scale = spec::QkScale::width;
}

}  // namespace config::huggingface
