// core/config/huggingface_remote.cpp -- architectures whose classes come with the checkpoint instead of the library;
// absent keys mean what those classes take. SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/config/huggingface_readers.h"
#include "core/config/model_reader.h"

namespace config::huggingface {
namespace {

/// Whether the file is of the class, by `architectures`.
bool is_of_class(const Config& config, std::string_view name) {
  const Value* classes = config.value.find("architectures");
  return classes && !classes->items.empty() && classes->items.front().text == name;
}

}  // namespace

void aquila(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 100008, .hidden = 4096, .ffn = 11008, .layers = 32, .heads = 32, .positions = 2048});
}

void yi(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 64000, .hidden = 4096, .ffn = 11008, .layers = 32, .heads = 32, .positions = 4096});
}

void xverse(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 100278, .hidden = 5120, .ffn = 13824, .layers = 40, .heads = 40, .positions = 8192});
  if (!config.map.has("num_experts")) return;
  config.map.fault("num_experts", "XVERSE's experts are not known", "describe the model in a file of its own");
}

void internlm2(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 103168, .hidden = 4096, .ffn = 11008, .layers = 32, .heads = 32, .positions = 2048});
  model.qkv_bias = model.proj_bias = config.flag("bias", true);
}

void internlm3(Model& model, Config& config) {
  read_gated(model, config,
             {.vocab = 128512, .hidden = 4096, .ffn = 11008, .layers = 32, .heads = 32, .positions = 32768});
  model.qkv_bias = config.flag("qkv_bias", false);
  if (!config.flag("bias", false)) return;
  config.map.fault("bias", "is true, and no InternLM 3 that is known has other biases than qkv_bias", "write false");
}

/// The 7B has rotary positions and the 13B alibi, which their files do not tell.
void baichuan(Model& model, Config& config) {
  read_gated(model, config, {});
  config.map.read("model_max_length", model.max_positions, 1, spec::kMostPositions);
  const bool rotary = model.hidden == 4096 || is_of_class(config, "BaiChuanForCausalLM");
  model.position = rotary ? spec::Position::rope : spec::Position::alibi;
}

/// ChatGLM 2 and 3, GLM-4 9B. The first ChatGLM is built otherwise.
void chatglm(Model& model, Config& config) {
  if (!config.map.has("ffn_hidden_size")) {
    return config.map.fault("ffn_hidden_size", "is missing, as in the first ChatGLM, whose layers are not known",
                            "ChatGLM 2 and later are known");
  }
  read_gated(model, config, {.vocab = 65024, .hidden = 4096, .ffn = 13696, .layers = 28, .heads = 32});
  config.map.read("padded_vocab_size", model.vocab, 1, spec::kMostVocab);
  config.map.read("kv_channels", model.head_dim, 1, spec::kMostHeadDim);
  config.map.read("seq_length", model.max_positions, 1, spec::kMostPositions);
  if (config.flag("multi_query_attention", false)) {
    model.kv_heads = 1;
    config.map.read("multi_query_group_num", model.kv_heads, 1, spec::kMostHeads);
  }
  model.bias = config.flag("add_bias_linear", false);
  model.qkv_bias = model.bias || config.flag("add_qkv_bias", false);
  for (const char* key : {"rmsnorm", "post_layer_norm"}) {
    if (!config.flag(key, true)) config.map.fault(key, "is false, which no ChatGLM that is known has", "write true");
  }
}

/// Ling. Published files of both generations say bailing_moe, and tell the second by their class. Experts of the first
/// are chosen by softmax; those of the second in groups, with a balancing bias. Only the second has a norm of queries
/// and keys.
void bailing_moe(Model& model, Config& config) {
  std::string type;
  config.map.read("model_type", type);
  const bool second = type == "bailing_moe_v2" || is_of_class(config, "BailingMoeV2ForCausalLM");
  read_gated(model, config, {});
  const bool bias = config.flag("use_bias", !second);
  model.bias = bias && !second;
  model.proj_bias = bias;
  model.qkv_bias = model.bias || config.flag("use_qkv_bias", false);
  model.qk_norm = second && config.flag("use_qk_norm", true);
  spec::Moe moe{.router_bias = second};
  read_experts(moe, config, {.experts = "num_experts", .shared = "num_shared_experts"});
  if (second) read_groups(moe, config, 8, 4);
  model.moe = moe;
}

}  // namespace config::huggingface
