// core/config/huggingface_dense.cpp -- dense architectures with layernorms (GPT-2 and those after it, Cohere) or one
// up-projection (Nemotron).
// SPDX-License-Identifier: Apache-2.0
#include "core/config/huggingface_readers.h"

#include "core/config/model_reader.h"

namespace config::huggingface {

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

namespace {

/// Rotary positions and one up-projection, squared; biases by a flag each.
void read_squared(Model& model, Config& config, const Defaults& absent, bool biased) {
  model.activation = spec::Activation::squared_relu;
  read_shape(model, config, absent);
  if (config.map.has("hidden_act")) read_activation(model, config, "hidden_act");
  read_attention_bias(model, config, biased);
  model.bias = config.flag("mlp_bias", biased);
}

}  // namespace

void nemotron(Model& model, Config& config) {
  read_squared(model, config,
               {.vocab = 256000, .hidden = 6144, .ffn = 24576, .layers = 32, .heads = 48, .positions = 4096}, false);
  model.norm = spec::Norm::layernorm;
}

void jais2(Model& model, Config& config) {
  read_squared(model, config,
               {.vocab = 150272, .hidden = 3328, .ffn = 26624, .layers = 32, .heads = 26, .positions = 8192}, true);
  model.norm = spec::Norm::layernorm;
}

/// Llama with one up-projection, squared.
void arcee(Model& model, Config& config) {
  read_squared(model, config,
               {.vocab = 32000, .hidden = 2560, .ffn = 18432, .layers = 32, .heads = 32, .positions = 4096}, false);
  model.norm = spec::Norm::rmsnorm;
}

/// GPT-2 whose queries share one key and value (SantaCoder, StarCoder).
void gpt_bigcode(Model& model, Config& config) {
  gpt2(model, config);
  model.kv_heads = config.flag("multi_query", true) ? 1 : model.heads;
}

void starcoder2(Model& model, Config& config) {
  read_plain(model, config,
             {.vocab = 49152,
              .hidden = 3072,
              .ffn = 12288,
              .layers = 30,
              .heads = 24,
              .kv_heads = 2,
              .positions = 4096,
              .tied = true},
             "hidden_act");
  model.bias = config.flag("use_bias", true);
  read_window(model, config, 0);
}

void stablelm(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 50304, .hidden = 2560, .ffn = 6912, .layers = 32, .heads = 32, .kv_heads = 32, .positions = 4096});
  model.norm = spec::Norm::layernorm;
  model.qkv_bias = config.flag("use_qkv_bias", false);
  model.parallel_block = config.flag("use_parallel_residual", false);
  if (model.parallel_block) model.norms_in_parallel = 1;
  if (config.flag("qk_layernorm", false)) {
    config.map.fault("qk_layernorm", "norms without shift, beside others that have one, are not known",
                     "only StableLM models without a norm of queries and keys are known, which all but 12B are");
  }
}

/// One layernorm without shift, whose output attention and feed-forward both read.
void read_cohere(Model& model, Config& config) {
  read_gated(
      model, config,
      {.vocab = 256000, .hidden = 8192, .ffn = 22528, .layers = 40, .heads = 64, .positions = 8192, .tied = true});
  model.norm = spec::Norm::layernorm;
  model.norm_bias = false;
  model.parallel_block = true;
  model.norms_in_parallel = 1;
  read_attention_bias(model, config, false);
}

/// Command R+'s norm is over each head, and scales each by numbers of its own.
void cohere(Model& model, Config& config) {
  read_cohere(model, config);
  model.qk_norm = config.flag("use_qk_norm", false);
  if (model.qk_norm) model.qk_scale = spec::QkScale::width;
}

}  // namespace config::huggingface
