// core/config/huggingface_recurrent.cpp -- architectures with recurrent layers: NemotronHConfig of NVIDIA's checkpoints
// (Nemotron-H, Nemotron Nano v2, Nemotron 3 Nano), Qwen3-Next and Qwen3.5. SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/config/huggingface_readers.h"
#include "core/config/model_reader.h"

namespace config::huggingface {
namespace {

using Kind = spec::Recurrent::Kind;

std::string letters_of(const Value& kinds) {
  std::string letters;
  for (const Value& one : kinds.items) {
    const bool mamba = one.text == "mamba", attention = one.text == "attention", experts = one.text == "moe";
    letters += mamba ? 'M' : attention ? '*' : experts ? 'E' : '-';
  }
  return letters;
}

/// The letters of the file's own pattern, or of its list of kinds.
std::string read_pattern(Config& config) {
  std::string pattern;
  config.map.read("hybrid_override_pattern", pattern);
  const Value* list = config.map.child("layers_block_type");
  return pattern.empty() && list ? letters_of(*list) : pattern;
}

void check_letters(const Model& model, Config& config) {
  const bool listed = !config.map.has("hybrid_override_pattern");
  const char* key = listed ? "layers_block_type" : "hybrid_override_pattern";
  if (const auto odd = model.pattern.find_first_not_of("M*-E"); odd != std::string::npos) {
    config.map.fault(key, std::string("has '") + model.pattern[odd] + "', which is no kind of layer that is known",
                     "known are M (Mamba-2), * (attention), - (feed-forward) and E (experts)");
  } else if (static_cast<int>(model.pattern.size()) != model.layers) {
    config.map.fault(
        key,
        "tells of " + std::to_string(model.pattern.size()) + " layers, and there are " + std::to_string(model.layers),
        "write a letter for each of num_hidden_layers");
  }
}

spec::Moe read_experts_of_nemotron(Config& config) {
  spec::Moe moe{.router_bias = true};
  config.map.require("n_routed_experts", moe.experts, 1, spec::kMostExperts);
  config.map.require("num_experts_per_tok", moe.top_k, 1, spec::kMostExperts);
  config.map.require("moe_intermediate_size", moe.ffn, 1, spec::kMostFfn);
  moe.shared_experts = static_cast<int>(config.whole("n_shared_experts", 0, spec::kMostExperts));
  moe.shared_ffn = config.whole("moe_shared_expert_intermediate_size", moe.shared_experts * moe.ffn, spec::kMostFfn);
  moe.latent = config.whole("moe_latent_size", 0, spec::kMostHidden);
  check_experts(moe, config.map, "num_experts_per_tok");
  return moe;
}

/// What layers a module of further tokens would have; the modules are left out, as everywhere.
void read_module_pattern(Model& model, Config& config) {
  std::string pattern;
  config.map.read("mtp_hybrid_override_pattern", pattern);
  if (const Value* list = config.map.child("mtp_layers_block_type"); list && pattern.empty()) {
    pattern = letters_of(*list);
  }
  if (pattern.find_first_not_of(model.pattern) == std::string::npos) model.mtp_pattern = pattern;
}

spec::Recurrent read_delta(Config& config) {
  spec::Recurrent r{.kind = Kind::gated_delta, .heads = 32, .head_dim = 128, .groups = 16, .state = 128};
  config.map.read("linear_num_value_heads", r.heads, 1, spec::kMostHeads);
  config.map.read("linear_value_head_dim", r.head_dim, 1, spec::kMostHeadDim);
  config.map.read("linear_num_key_heads", r.groups, 1, spec::kMostHeads);
  config.map.read("linear_key_head_dim", r.state, 1, spec::kMostHeadDim);
  config.map.read("linear_conv_kernel_dim", r.conv, 1, 64);
  r.chunk = spec::usual_chunk(r.kind);
  r.attention_every = 4;
  config.map.read("full_attention_interval", r.attention_every, 1, spec::kMostLayers);
  if (config.map.has("layer_types")) r.attention_every = every_nth(config, "layer_types", "full_attention");
  if (r.heads % r.groups != 0) {
    config.map.fault("linear_num_key_heads",
                     std::to_string(r.groups) + " do not divide " + std::to_string(r.heads) + " heads of values",
                     "write a divisor: each group's keys serve as many");
  }
  return r;
}

void read_delta_model(Model& model, Config& config, const Defaults& absent) {
  read_gated(model, config, absent);
  read_attention_bias(model, config, false);
  model.qk_norm = true;
  model.attention_gate = config.flag("attn_output_gate", true);
  model.recurrent = read_delta(config);
}

void read_delta_experts(Model& model, Config& config, spec::Moe moe) {
  config.map.read("num_experts", moe.experts, 1, spec::kMostExperts);
  config.map.read("num_experts_per_tok", moe.top_k, 1, spec::kMostExperts);
  config.map.read("moe_intermediate_size", moe.ffn, 1, spec::kMostFfn);
  moe.shared_ffn = config.whole("shared_expert_intermediate_size", moe.ffn, spec::kMostFfn);
  moe.shared_experts = moe.shared_ffn > 0 ? 1 : 0;
  moe.shared_gate = moe.shared_ffn > 0;
  config.map.read("decoder_sparse_step", moe.every, 1, spec::kMostLayers);
  read_dense_layers(moe, config);
  check_experts(moe, config.map, "num_experts_per_tok");
  model.moe = moe;
}

}  // namespace

void nemotron_h(Model& model, Config& config) {
  model.activation = spec::Activation::squared_relu;
  read_shape(
      model, config,
      {.vocab = 131072, .hidden = 4096, .ffn = 21504, .layers = 52, .heads = 32, .kv_heads = 8, .head_dim = 128});
  if (config.map.has("mlp_hidden_act")) read_activation(model, config, "mlp_hidden_act");
  model.norm = spec::Norm::rmsnorm;
  model.position = spec::Position::none;
  read_attention_bias(model, config, false);
  model.bias = config.flag("mlp_bias", false);
  spec::Recurrent r{.kind = Kind::mamba2, .heads = 128, .head_dim = 64, .groups = 8, .state = 128};
  config.map.read("mamba_num_heads", r.heads, 1, spec::kMostHeads);
  config.map.read("mamba_head_dim", r.head_dim, 1, spec::kMostHeadDim);
  config.map.read("n_groups", r.groups, 1, spec::kMostHeads);
  config.map.read("ssm_state_size", r.state, 1, spec::kMostHeadDim);
  config.map.read("conv_kernel", r.conv, 1, 64);
  r.chunk = spec::usual_chunk(r.kind);
  config.map.read("chunk_size", r.chunk, 1, 65'536);
  model.recurrent = r;
  model.pattern = read_pattern(config);
  const bool counted = config.map.has("num_hidden_layers") && !config.is_null("num_hidden_layers");
  if (!counted && !model.pattern.empty()) model.layers = static_cast<int>(model.pattern.size());
  check_letters(model, config);
  read_module_pattern(model, config);
  if (model.pattern.find('E') == std::string::npos) return;
  model.moe = read_experts_of_nemotron(config);
  if (model.pattern.find('-') == std::string::npos) model.ffn = model.moe->ffn;
}

void qwen3_next(Model& model, Config& config) {
  read_delta_model(model, config,
                   {.vocab = 151936,
                    .hidden = 2048,
                    .ffn = 5632,
                    .layers = 48,
                    .heads = 16,
                    .kv_heads = 2,
                    .head_dim = 256,
                    .positions = 32768});
  read_delta_experts(model, config, {.experts = 512, .top_k = 10, .ffn = 512});
}

void qwen3_5_text(Model& model, Config& config) {
  read_delta_model(model, config,
                   {.vocab = 248320,
                    .hidden = 4096,
                    .ffn = 12288,
                    .layers = 32,
                    .heads = 16,
                    .kv_heads = 4,
                    .head_dim = 256,
                    .positions = 32768});
}
void qwen3_5(Model& model, Config& config) { read_text_part(model, config, qwen3_5_text); }

void qwen3_5_moe_text(Model& model, Config& config) {
  read_delta_model(model, config,
                   {.vocab = 248320,
                    .hidden = 2048,
                    .ffn = 5632,
                    .layers = 40,
                    .heads = 16,
                    .kv_heads = 2,
                    .head_dim = 256,
                    .positions = 32768});
  read_delta_experts(model, config, {.experts = 256, .top_k = 8, .ffn = 512});
}
void qwen3_5_moe(Model& model, Config& config) { read_text_part(model, config, qwen3_5_moe_text); }

}  // namespace config::huggingface
