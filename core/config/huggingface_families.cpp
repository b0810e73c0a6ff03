// The architectures by name. A new one is a function (huggingface_readers.h) and a row here.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/huggingface_families.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/near_names.h"
#include "core/config/huggingface_readers.h"

namespace config {
namespace {

constexpr std::array kArchitectures{
    HuggingFaceArchitecture{"bloom", "BloomForCausalLM", huggingface::bloom},
    HuggingFaceArchitecture{"dbrx", "DbrxForCausalLM", huggingface::dbrx},
    HuggingFaceArchitecture{"deepseek_v2", "DeepseekV2ForCausalLM", huggingface::deepseek_v2},
    HuggingFaceArchitecture{"deepseek_v3", "DeepseekV3ForCausalLM", huggingface::deepseek_v3},
    HuggingFaceArchitecture{"kimi_k2", "DeepseekV3ForCausalLM", huggingface::deepseek_v3},
    HuggingFaceArchitecture{"deepseek_v32", "DeepseekV32ForCausalLM", huggingface::deepseek_v32},
    HuggingFaceArchitecture{"falcon", "FalconForCausalLM", huggingface::falcon},
    HuggingFaceArchitecture{"gemma", "GemmaForCausalLM", huggingface::gemma},
    HuggingFaceArchitecture{"gemma2", "Gemma2ForCausalLM", huggingface::gemma2},
    HuggingFaceArchitecture{"gemma3", "Gemma3ForConditionalGeneration", huggingface::gemma3},
    HuggingFaceArchitecture{"gemma3_text", "Gemma3ForCausalLM", huggingface::gemma3_text},
    HuggingFaceArchitecture{"glm4_moe", "Glm4MoeForCausalLM", huggingface::glm4_moe},
    HuggingFaceArchitecture{"glm_moe_dsa", "GlmMoeDsaForCausalLM", huggingface::glm_moe_dsa},
    HuggingFaceArchitecture{"gpt2", "GPT2LMHeadModel", huggingface::gpt2},
    HuggingFaceArchitecture{"gpt_neox", "GPTNeoXForCausalLM", huggingface::gpt_neox},
    HuggingFaceArchitecture{"gpt_oss", "GptOssForCausalLM", huggingface::gpt_oss},
    HuggingFaceArchitecture{"gptj", "GPTJForCausalLM", huggingface::gptj},
    HuggingFaceArchitecture{"llama", "LlamaForCausalLM", huggingface::llama},
    HuggingFaceArchitecture{"llama4", "Llama4ForConditionalGeneration", huggingface::llama4},
    HuggingFaceArchitecture{"llama4_text", "Llama4ForCausalLM", huggingface::llama4_text},
    HuggingFaceArchitecture{"mistral", "MistralForCausalLM", huggingface::mistral},
    HuggingFaceArchitecture{"mixtral", "MixtralForCausalLM", huggingface::mixtral},
    HuggingFaceArchitecture{"mpt", "MPTForCausalLM", huggingface::mpt},
    HuggingFaceArchitecture{"nemotron", "NemotronForCausalLM", huggingface::nemotron},
    HuggingFaceArchitecture{"nemotron_h", "NemotronHForCausalLM", huggingface::nemotron_h},
    HuggingFaceArchitecture{"olmo2", "Olmo2ForCausalLM", huggingface::olmo2},
    HuggingFaceArchitecture{"opt", "OPTForCausalLM", huggingface::opt},
    HuggingFaceArchitecture{"phi", "PhiForCausalLM", huggingface::phi},
    HuggingFaceArchitecture{"phi-msft", "PhiForCausalLM", huggingface::phi_msft},
    HuggingFaceArchitecture{"phi3", "Phi3ForCausalLM", huggingface::phi3},
    HuggingFaceArchitecture{"qwen2", "Qwen2ForCausalLM", huggingface::qwen2},
    HuggingFaceArchitecture{"qwen3", "Qwen3ForCausalLM", huggingface::qwen3},
    HuggingFaceArchitecture{"qwen3_5", "Qwen3_5ForConditionalGeneration", huggingface::qwen3_5},
    HuggingFaceArchitecture{"qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration", huggingface::qwen3_5_moe},
    HuggingFaceArchitecture{"qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", huggingface::qwen3_5_moe_text},
    HuggingFaceArchitecture{"qwen3_5_text", "Qwen3_5ForCausalLM", huggingface::qwen3_5_text},
    HuggingFaceArchitecture{"qwen3_moe", "Qwen3MoeForCausalLM", huggingface::qwen3_moe},
    HuggingFaceArchitecture{"qwen3_next", "Qwen3NextForCausalLM", huggingface::qwen3_next},
    HuggingFaceArchitecture{"smollm3", "SmolLM3ForCausalLM", huggingface::smollm3},
};

}  // namespace

std::span<const HuggingFaceArchitecture> huggingface_architectures() { return kArchitectures; }

std::string_view class_stem(std::string_view class_name) {
  return class_name.substr(0, std::min(class_name.find("For"), class_name.find("LMHead")));
}

bool has_recurrent_layers(std::string_view name) {
  constexpr std::array<std::string_view, 13> kRecurrent{
      "mamba",  "mamba2", "falconmamba", "falconh1",         "jamba",  "bamba",         "zamba",
      "zamba2", "rwkv",   "xlstm",       "granitemoehybrid", "plamo2", "recurrentgemma"};
  std::string plain = base::spelled_alike(class_stem(name));
  std::erase(plain, '_');
  return std::ranges::find(kRecurrent, plain) != kRecurrent.end();
}

}  // namespace config
