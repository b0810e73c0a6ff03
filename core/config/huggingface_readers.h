// core/config/huggingface_readers.h -- one function for each architecture, which reads what its config.json has of its
// own and takes for absent keys what the transformers library takes; and what several of them share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/config/huggingface_shape.h"
#include "core/spec/model.h"

namespace config::huggingface {

using spec::Model;
using Config = HuggingFaceConfig;
using Defaults = HuggingFaceDefaults;

/// Rotary positions, rmsnorm, gated feed-forward; biases of attention and feed-forward by a flag each.
void read_gated(Model&, Config&, const Defaults& absent);
/// Layernorm, one up-projection, a bias everywhere.
void read_plain(Model&, Config&, const Defaults& absent, std::string_view activation);
void read_attention_bias(Model&, Config&, bool absent);
/// Of a list with an entry a layer, n where every n-th entry is `special` and no other; 0 where none is. Another
/// pattern is a fault.
int every_nth(Config&, std::string_view key, std::string_view special);
/// Which layers have the window, where one layer in two has unless the file lists the kinds of all (Gemma 2, gpt-oss).
void read_window_layers(Model&, Config&);
/// Which layers see everything, where all others have the window that was read: those that `layer_types` lists, or
/// every n-th by the key `distance` (empty: the file has none). REQUIRES: read_window.
void read_full_layers(Model&, Config&, std::string_view distance, int absent);
/// The same; those that see everything have no rotary embedding. Every fourth unless said.
void read_full_layers_without_rope(Model&, Config&, std::string_view distance);
/// A window in the layers from max_window_layers on; known only where they are all or none.
void read_last_window(Model&, Config&, std::int64_t absent);
/// Layers without rotary embedding: a list with a 0 for each, or the distance between them (Llama 4, SmolLM3).
int read_nope_every(Config&);
/// mlp_only_layers names layers without experts; those that open the model are first_dense, others are not known.
void read_dense_layers(spec::Moe&, Config&);
/// What a file calls the number of experts, those that a token visits, an expert's width, the experts that all visit,
/// and the dense layers in front. Empty: it has no such key.
struct ExpertKeys {
  std::string_view experts = "n_routed_experts", top_k = "num_experts_per_tok", ffn = "moe_intermediate_size";
  std::string_view shared = "n_shared_experts", first_dense = "first_k_dense_replace";
};
/// `moe` holds what the library takes for absent keys; a figure of 0 has to be in the file.
void read_experts(spec::Moe& moe, Config&, const ExpertKeys&);
/// A token's experts lie in topk_group of n_group groups.
void read_groups(spec::Moe&, Config&, int groups_absent, int top_absent);
/// Which keys attention sees, where `heads` heads choose them unless the file says so. REQUIRES: latent attention.
void read_indexer(Model&, Config&, int heads);
/// A norm of queries and keys, and nothing else of Hunyuan's own.
void read_hunyuan_attention(Model&, Config&);
/// What Command R and Command A share.
void read_cohere(Model&, Config&);
/// Reads the part of a model for text and images that reads and writes text.
void read_text_part(Model&, Config&, void (*read)(Model&, Config&));

// huggingface_dense.cpp
void arcee(Model&, Config&);
void bloom(Model&, Config&);
void cohere(Model&, Config&);
void falcon(Model&, Config&);
void gpt2(Model&, Config&);
void gpt_bigcode(Model&, Config&);
void gpt_neox(Model&, Config&);
void gptj(Model&, Config&);
void jais2(Model&, Config&);
void mpt(Model&, Config&);
void nemotron(Model&, Config&);
void opt(Model&, Config&);
void phi(Model&, Config&);
void phi_msft(Model&, Config&);
void stablelm(Model&, Config&);
void starcoder2(Model&, Config&);

// huggingface_gated.cpp
void ernie4_5(Model&, Config&);
void glm(Model&, Config&);
void glm4(Model&, Config&);
void helium(Model&, Config&);
void hunyuan_v1_dense(Model&, Config&);
void llama(Model&, Config&);
void ministral3(Model&, Config&);
void mistral(Model&, Config&);
void olmo2(Model&, Config&);
void phi3(Model&, Config&);
void qwen2(Model&, Config&);
void qwen2_vl_text(Model&, Config&);
void qwen3(Model&, Config&);
void qwen3_vl_text(Model&, Config&);
void seed_oss(Model&, Config&);

// huggingface_windows.cpp
void cohere2(Model&, Config&);
void exaone4(Model&, Config&);
void gemma(Model&, Config&);
void gemma2(Model&, Config&);
void gemma3_text(Model&, Config&);
void ministral(Model&, Config&);
void olmo3(Model&, Config&);
void smollm3(Model&, Config&);

// huggingface_experts.cpp
void dbrx(Model&, Config&);
void gpt_oss(Model&, Config&);
void granitemoe(Model&, Config&);
void granitemoeshared(Model&, Config&);
void hunyuan_v1_moe(Model&, Config&);
void minimax_m2(Model&, Config&);
void mixtral(Model&, Config&);
void olmoe(Model&, Config&);
void phimoe(Model&, Config&);

// huggingface_sparse.cpp
void ernie4_5_moe(Model&, Config&);
void llama4_text(Model&, Config&);
void qwen2_moe(Model&, Config&);
void qwen3_moe(Model&, Config&);
void qwen3_vl_moe_text(Model&, Config&);

// huggingface_shared_experts.cpp
void afmoe(Model&, Config&);
void deepseek(Model&, Config&);
void deepseek_v2(Model&, Config&);
void deepseek_v3(Model&, Config&);
void deepseek_v32(Model&, Config&);
void dots1(Model&, Config&);
void exaone_moe(Model&, Config&);
void glm4_moe(Model&, Config&);
void glm4_moe_lite(Model&, Config&);
void glm4v_moe_text(Model&, Config&);
void glm_moe_dsa(Model&, Config&);
void hy_v3(Model&, Config&);
void mistral4(Model&, Config&);
void solar_open(Model&, Config&);

// huggingface_remote.cpp
void aquila(Model&, Config&);
void baichuan(Model&, Config&);
void bailing_moe(Model&, Config&);
void chatglm(Model&, Config&);
void internlm2(Model&, Config&);
void internlm3(Model&, Config&);
void xverse(Model&, Config&);
void yi(Model&, Config&);

// huggingface_images.cpp
void gemma3(Model&, Config&);
void glm4v_moe(Model&, Config&);
void kimi_k25(Model&, Config&);
void llama4(Model&, Config&);
void mistral3(Model&, Config&);
void qwen2_vl(Model&, Config&);
void qwen3_vl(Model&, Config&);
void qwen3_vl_moe(Model&, Config&);

// huggingface_recurrent.cpp
void nemotron_h(Model&, Config&);
void qwen3_5(Model&, Config&);
void qwen3_5_moe(Model&, Config&);
void qwen3_5_moe_text(Model&, Config&);
void qwen3_5_text(Model&, Config&);
void qwen3_next(Model&, Config&);

}  // namespace config::huggingface
