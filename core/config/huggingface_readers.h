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
/// Layers without rotary embedding: a list with a 0 for each, or the distance between them (Llama 4, SmolLM3).
int read_nope_every(Config&);
/// mlp_only_layers names layers without experts; those that open the model are first_dense, others are not known.
void read_dense_layers(spec::Moe&, Config&);
/// Reads the part of a model for text and images that reads and writes text.
void read_text_part(Model&, Config&, void (*read)(Model&, Config&));

// huggingface_dense.cpp
void bloom(Model&, Config&);
void falcon(Model&, Config&);
void gemma(Model&, Config&);
void gemma2(Model&, Config&);
void gemma3(Model&, Config&);
void gemma3_text(Model&, Config&);
void gpt2(Model&, Config&);
void gpt_neox(Model&, Config&);
void gptj(Model&, Config&);
void llama(Model&, Config&);
void mistral(Model&, Config&);
void mpt(Model&, Config&);
void nemotron(Model&, Config&);
void olmo2(Model&, Config&);
void opt(Model&, Config&);
void phi(Model&, Config&);
void phi_msft(Model&, Config&);
void phi3(Model&, Config&);
void qwen2(Model&, Config&);
void qwen3(Model&, Config&);
void smollm3(Model&, Config&);

// huggingface_experts.cpp
void dbrx(Model&, Config&);
void deepseek_v2(Model&, Config&);
void deepseek_v3(Model&, Config&);
void deepseek_v32(Model&, Config&);
void glm4_moe(Model&, Config&);
void glm_moe_dsa(Model&, Config&);
void gpt_oss(Model&, Config&);
void llama4(Model&, Config&);
void llama4_text(Model&, Config&);
void mixtral(Model&, Config&);
void qwen3_moe(Model&, Config&);

// huggingface_recurrent.cpp
void nemotron_h(Model&, Config&);
void qwen3_5(Model&, Config&);
void qwen3_5_moe(Model&, Config&);
void qwen3_5_moe_text(Model&, Config&);
void qwen3_5_text(Model&, Config&);
void qwen3_next(Model&, Config&);

}  // namespace config::huggingface
