// The architectures by name. A new one is a function (huggingface_readers.h) and a row here.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/huggingface_families.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/base/near_names.h"
#include "core/config/huggingface_readers.h"

namespace config {
namespace {

constexpr std::array kArchitectures{
    HuggingFaceArchitecture{"afmoe", "AfmoeForCausalLM", huggingface::afmoe},
    HuggingFaceArchitecture{"aquila", "AquilaForCausalLM", huggingface::aquila},
    HuggingFaceArchitecture{"arcee", "ArceeForCausalLM", huggingface::arcee},
    HuggingFaceArchitecture{"baichuan", "BaichuanForCausalLM", huggingface::baichuan},
    HuggingFaceArchitecture{"baichuan", "BaiChuanForCausalLM", huggingface::baichuan},
    HuggingFaceArchitecture{"bailing_moe", "BailingMoeForCausalLM", huggingface::bailing_moe},
    HuggingFaceArchitecture{"bailing_moe_v2", "BailingMoeV2ForCausalLM", huggingface::bailing_moe},
    HuggingFaceArchitecture{"bloom", "BloomForCausalLM", huggingface::bloom},
    HuggingFaceArchitecture{"chatglm", "ChatGLMModel", huggingface::chatglm},
    HuggingFaceArchitecture{"cohere", "CohereForCausalLM", huggingface::cohere},
    HuggingFaceArchitecture{"cohere2", "Cohere2ForCausalLM", huggingface::cohere2},
    HuggingFaceArchitecture{"dbrx", "DbrxForCausalLM", huggingface::dbrx},
    HuggingFaceArchitecture{"deepseek", "DeepseekForCausalLM", huggingface::deepseek},
    HuggingFaceArchitecture{"deepseek_v2", "DeepseekV2ForCausalLM", huggingface::deepseek_v2},
    HuggingFaceArchitecture{"deepseek_v3", "DeepseekV3ForCausalLM", huggingface::deepseek_v3},
    HuggingFaceArchitecture{"kimi_k2", "DeepseekV3ForCausalLM", huggingface::deepseek_v3},
    HuggingFaceArchitecture{"deepseek_v32", "DeepseekV32ForCausalLM", huggingface::deepseek_v32},
    HuggingFaceArchitecture{"dots1", "Dots1ForCausalLM", huggingface::dots1},
    HuggingFaceArchitecture{"ernie4_5", "Ernie4_5ForCausalLM", huggingface::ernie4_5},
    HuggingFaceArchitecture{"ernie4_5_moe", "Ernie4_5_MoeForCausalLM", huggingface::ernie4_5_moe},
    HuggingFaceArchitecture{"exaone4", "Exaone4ForCausalLM", huggingface::exaone4},
    HuggingFaceArchitecture{"exaone_moe", "ExaoneMoeForCausalLM", huggingface::exaone_moe},
    HuggingFaceArchitecture{"falcon", "FalconForCausalLM", huggingface::falcon},
    HuggingFaceArchitecture{"gemma", "GemmaForCausalLM", huggingface::gemma},
    HuggingFaceArchitecture{"gemma2", "Gemma2ForCausalLM", huggingface::gemma2},
    HuggingFaceArchitecture{"gemma3", "Gemma3ForConditionalGeneration", huggingface::gemma3},
    HuggingFaceArchitecture{"gemma3_text", "Gemma3ForCausalLM", huggingface::gemma3_text},
    HuggingFaceArchitecture{"glm", "GlmForCausalLM", huggingface::glm},
    HuggingFaceArchitecture{"glm4", "Glm4ForCausalLM", huggingface::glm4},
    HuggingFaceArchitecture{"glm4_moe", "Glm4MoeForCausalLM", huggingface::glm4_moe},
    HuggingFaceArchitecture{"glm4_moe_lite", "Glm4MoeLiteForCausalLM", huggingface::glm4_moe_lite},
    HuggingFaceArchitecture{"glm4v_moe", "Glm4vMoeForConditionalGeneration", huggingface::glm4v_moe},
    HuggingFaceArchitecture{"glm_moe_dsa", "GlmMoeDsaForCausalLM", huggingface::glm_moe_dsa},
    HuggingFaceArchitecture{"gpt2", "GPT2LMHeadModel", huggingface::gpt2},
    HuggingFaceArchitecture{"gpt_bigcode", "GPTBigCodeForCausalLM", huggingface::gpt_bigcode},
    HuggingFaceArchitecture{"gpt_neox", "GPTNeoXForCausalLM", huggingface::gpt_neox},
    HuggingFaceArchitecture{"gpt_oss", "GptOssForCausalLM", huggingface::gpt_oss},
    HuggingFaceArchitecture{"gptj", "GPTJForCausalLM", huggingface::gptj},
    HuggingFaceArchitecture{"granite", "GraniteForCausalLM", huggingface::llama},
    HuggingFaceArchitecture{"granitemoe", "GraniteMoeForCausalLM", huggingface::granitemoe},
    HuggingFaceArchitecture{"granitemoeshared", "GraniteMoeSharedForCausalLM", huggingface::granitemoeshared},
    HuggingFaceArchitecture{"helium", "HeliumForCausalLM", huggingface::helium},
    HuggingFaceArchitecture{"hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", huggingface::hunyuan_v1_dense},
    HuggingFaceArchitecture{"hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM", huggingface::hunyuan_v1_moe},
    HuggingFaceArchitecture{"hy_v3", "HYV3ForCausalLM", huggingface::hy_v3},
    HuggingFaceArchitecture{"internlm2", "InternLM2ForCausalLM", huggingface::internlm2},
    HuggingFaceArchitecture{"internlm3", "InternLM3ForCausalLM", huggingface::internlm3},
    HuggingFaceArchitecture{"jais2", "Jais2ForCausalLM", huggingface::jais2},
    HuggingFaceArchitecture{"kimi_k25", "KimiK25ForConditionalGeneration", huggingface::kimi_k25},
    HuggingFaceArchitecture{"llama", "LlamaForCausalLM", huggingface::llama},
    HuggingFaceArchitecture{"llama4", "Llama4ForConditionalGeneration", huggingface::llama4},
    HuggingFaceArchitecture{"llama4_text", "Llama4ForCausalLM", huggingface::llama4_text},
    HuggingFaceArchitecture{"mimo", "MiMoForCausalLM", huggingface::qwen2},
    HuggingFaceArchitecture{"minimax_m2", "MiniMaxM2ForCausalLM", huggingface::minimax_m2},
    HuggingFaceArchitecture{"ministral", "MinistralForCausalLM", huggingface::ministral},
    HuggingFaceArchitecture{"ministral3", "Ministral3ForCausalLM", huggingface::ministral3},
    HuggingFaceArchitecture{"mistral", "MistralForCausalLM", huggingface::mistral},
    HuggingFaceArchitecture{"mistral3", "Mistral3ForConditionalGeneration", huggingface::mistral3},
    HuggingFaceArchitecture{"mistral4", "Mistral4ForCausalLM", huggingface::mistral4},
    HuggingFaceArchitecture{"mixtral", "MixtralForCausalLM", huggingface::mixtral},
    HuggingFaceArchitecture{"mpt", "MPTForCausalLM", huggingface::mpt},
    HuggingFaceArchitecture{"nemotron", "NemotronForCausalLM", huggingface::nemotron},
    HuggingFaceArchitecture{"nemotron_h", "NemotronHForCausalLM", huggingface::nemotron_h},
    HuggingFaceArchitecture{"olmo2", "Olmo2ForCausalLM", huggingface::olmo2},
    HuggingFaceArchitecture{"olmo3", "Olmo3ForCausalLM", huggingface::olmo3},
    HuggingFaceArchitecture{"olmoe", "OlmoeForCausalLM", huggingface::olmoe},
    HuggingFaceArchitecture{"opt", "OPTForCausalLM", huggingface::opt},
    HuggingFaceArchitecture{"phi", "PhiForCausalLM", huggingface::phi},
    HuggingFaceArchitecture{"phi-msft", "PhiForCausalLM", huggingface::phi_msft},
    HuggingFaceArchitecture{"phi3", "Phi3ForCausalLM", huggingface::phi3},
    HuggingFaceArchitecture{"phimoe", "PhimoeForCausalLM", huggingface::phimoe},
    HuggingFaceArchitecture{"qwen2", "Qwen2ForCausalLM", huggingface::qwen2},
    HuggingFaceArchitecture{"qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration", huggingface::qwen2_vl},
    HuggingFaceArchitecture{"qwen2_moe", "Qwen2MoeForCausalLM", huggingface::qwen2_moe},
    HuggingFaceArchitecture{"qwen2_vl", "Qwen2VLForConditionalGeneration", huggingface::qwen2_vl},
    HuggingFaceArchitecture{"qwen3", "Qwen3ForCausalLM", huggingface::qwen3},
    HuggingFaceArchitecture{"qwen3_5", "Qwen3_5ForConditionalGeneration", huggingface::qwen3_5},
    HuggingFaceArchitecture{"qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration", huggingface::qwen3_5_moe},
    HuggingFaceArchitecture{"qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", huggingface::qwen3_5_moe_text},
    HuggingFaceArchitecture{"qwen3_5_text", "Qwen3_5ForCausalLM", huggingface::qwen3_5_text},
    HuggingFaceArchitecture{"qwen3_moe", "Qwen3MoeForCausalLM", huggingface::qwen3_moe},
    HuggingFaceArchitecture{"qwen3_next", "Qwen3NextForCausalLM", huggingface::qwen3_next},
    HuggingFaceArchitecture{"qwen3_vl", "Qwen3VLForConditionalGeneration", huggingface::qwen3_vl},
    HuggingFaceArchitecture{"qwen3_vl_moe", "Qwen3VLMoeForConditionalGeneration", huggingface::qwen3_vl_moe},
    HuggingFaceArchitecture{"seed_oss", "SeedOssForCausalLM", huggingface::seed_oss},
    HuggingFaceArchitecture{"smollm3", "SmolLM3ForCausalLM", huggingface::smollm3},
    HuggingFaceArchitecture{"solar_open", "SolarOpenForCausalLM", huggingface::solar_open},
    HuggingFaceArchitecture{"stablelm", "StableLmForCausalLM", huggingface::stablelm},
    HuggingFaceArchitecture{"starcoder2", "Starcoder2ForCausalLM", huggingface::starcoder2},
    HuggingFaceArchitecture{"xverse", "XverseForCausalLM", huggingface::xverse},
    HuggingFaceArchitecture{"Yi", "YiForCausalLM", huggingface::yi},
};

}  // namespace

std::span<const HuggingFaceArchitecture> huggingface_architectures() { return kArchitectures; }

std::string_view class_stem(std::string_view class_name) {
  return class_name.substr(0, std::min(class_name.find("For"), class_name.find("LMHead")));
}

namespace {

/// "longcatflash" of longcat_flash and of LongcatFlashForCausalLM.
std::string plain_name(std::string_view name) {
  std::string plain = base::spelled_alike(class_stem(name));
  std::erase(plain, '_');
  return plain;
}

}  // namespace

std::string_view beyond_the_keys(std::string_view name) {
  constexpr std::string_view kHeads = "heads that differ from layer to layer";
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kBeyond{{
      {"apertus", "an activation of its own, with learned numbers"},
      {"cwm", "a first layer in four that sees everything"},
      {"longcatflash", "two attentions in a layer"},
      {"mimov2flash", kHeads},
      {"step3p5", kHeads},
  }};
  const std::string plain = plain_name(name);
  const auto it = std::ranges::find(kBeyond, plain, [](const auto& one) { return one.first; });
  return it == kBeyond.end() ? std::string_view() : it->second;
}

bool has_recurrent_layers(std::string_view name) {
  constexpr std::array<std::string_view, 13> kRecurrent{
      "mamba",  "mamba2", "falconmamba", "falconh1",         "jamba",  "bamba",         "zamba",
      "zamba2", "rwkv",   "xlstm",       "granitemoehybrid", "plamo2", "recurrentgemma"};
  return std::ranges::find(kRecurrent, plain_name(name)) != kRecurrent.end();
}

}  // namespace config
