// tests/core/config/messages_model_test.cpp -- what users are told of shapes that no model has, and config.json files,
// word for word.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/core/config/messages.h"

namespace config::testing {
namespace {

using ModelMessages = MessageTest;

const std::string kTypes =
    "known: afmoe, aquila, arcee, baichuan, bailing_moe, bailing_moe_v2, bloom, chatglm, cohere, cohere2, dbrx, "
    "deepseek, deepseek_v2, deepseek_v3, kimi_k2, deepseek_v32, dots1, ernie4_5, ernie4_5_moe, exaone4, exaone_moe, "
    "falcon, "
    "gemma, gemma2, gemma3, gemma3_text, glm, glm4, glm4_moe, glm4_moe_lite, glm4v_moe, glm_moe_dsa, gpt2, "
    "gpt_bigcode, "
    "gpt_neox, gpt_oss, gptj, granite, granitemoe, granitemoeshared, helium, hunyuan_v1_dense, hunyuan_v1_moe, "
    "hy_v3, internlm2, internlm3, jais2, kimi_k25, llama, llama4, llama4_text, mimo, minimax_m2, ministral, "
    "ministral3, mistral, mistral3, mistral4, mixtral, mpt, nemotron, nemotron_h, olmo2, olmo3, olmoe, opt, phi, "
    "phi-msft, phi3, phimoe, qwen2, qwen2_5_vl, qwen2_moe, qwen2_vl, qwen3, qwen3_5, qwen3_5_moe, "
    "qwen3_5_moe_text, qwen3_5_text, qwen3_moe, qwen3_next, qwen3_vl, qwen3_vl_moe, seed_oss, smollm3, "
    "solar_open, stablelm, starcoder2, xverse, Yi";
const std::string kClasses =
    "known: AfmoeForCausalLM, AquilaForCausalLM, ArceeForCausalLM, BaichuanForCausalLM, BaiChuanForCausalLM, "
    "BailingMoeForCausalLM, BailingMoeV2ForCausalLM, BloomForCausalLM, ChatGLMModel, CohereForCausalLM, "
    "Cohere2ForCausalLM, DbrxForCausalLM, DeepseekForCausalLM, DeepseekV2ForCausalLM, DeepseekV3ForCausalLM, "
    "DeepseekV32ForCausalLM, "
    "Dots1ForCausalLM, Ernie4_5ForCausalLM, Ernie4_5_MoeForCausalLM, Exaone4ForCausalLM, ExaoneMoeForCausalLM, "
    "FalconForCausalLM, GemmaForCausalLM, Gemma2ForCausalLM, Gemma3ForConditionalGeneration, Gemma3ForCausalLM, "
    "GlmForCausalLM, Glm4ForCausalLM, Glm4MoeForCausalLM, Glm4MoeLiteForCausalLM, "
    "Glm4vMoeForConditionalGeneration, GlmMoeDsaForCausalLM, GPT2LMHeadModel, GPTBigCodeForCausalLM, "
    "GPTNeoXForCausalLM, "
    "GptOssForCausalLM, GPTJForCausalLM, GraniteForCausalLM, GraniteMoeForCausalLM, GraniteMoeSharedForCausalLM, "
    "HeliumForCausalLM, HunYuanDenseV1ForCausalLM, HunYuanMoEV1ForCausalLM, HYV3ForCausalLM, "
    "InternLM2ForCausalLM, InternLM3ForCausalLM, Jais2ForCausalLM, KimiK25ForConditionalGeneration, "
    "LlamaForCausalLM, Llama4ForConditionalGeneration, Llama4ForCausalLM, MiMoForCausalLM, MiniMaxM2ForCausalLM, "
    "MinistralForCausalLM, Ministral3ForCausalLM, MistralForCausalLM, Mistral3ForConditionalGeneration, "
    "Mistral4ForCausalLM, MixtralForCausalLM, MPTForCausalLM, NemotronForCausalLM, NemotronHForCausalLM, "
    "Olmo2ForCausalLM, Olmo3ForCausalLM, OlmoeForCausalLM, OPTForCausalLM, PhiForCausalLM, Phi3ForCausalLM, "
    "PhimoeForCausalLM, Qwen2ForCausalLM, Qwen2_5_VLForConditionalGeneration, Qwen2MoeForCausalLM, "
    "Qwen2VLForConditionalGeneration, Qwen3ForCausalLM, Qwen3_5ForConditionalGeneration, "
    "Qwen3_5MoeForConditionalGeneration, Qwen3_5MoeForCausalLM, Qwen3_5ForCausalLM, Qwen3MoeForCausalLM, "
    "Qwen3NextForCausalLM, Qwen3VLForConditionalGeneration, Qwen3VLMoeForConditionalGeneration, "
    "SeedOssForCausalLM, SmolLM3ForCausalLM, SolarOpenForCausalLM, StableLmForCausalLM, Starcoder2ForCausalLM, "
    "XverseForCausalLM, YiForCausalLM";

TEST_F(ModelMessages, AnUnknownArchitectureListsTheKnown) {
  EXPECT_EQ(of_config_json("{\"model_type\": \"t5\", \"num_layers\": 4}"),
            "workloads/models/other.json:1:16: error: model_type: 't5' is not known\n"
            "  mend: " +
                kTypes);
}

TEST_F(ModelMessages, AnArchitectureOffersTheNearest) {
  EXPECT_EQ(of_config_json("{\"model_type\": \"lama\"}"),
            "workloads/models/other.json:1:16: error: model_type: 'lama' is not known\n"
            "  mend: did you mean llama? " +
                kTypes);
}

TEST_F(ModelMessages, AClassIsToldAmongClasses) {
  EXPECT_EQ(of_config_json("{\"architectures\": [\"LLaMAForCausalLM\"]}"),
            "workloads/models/other.json:1:19: error: architectures: 'LLaMAForCausalLM' is not known\n"
            "  mend: did you mean LlamaForCausalLM? " +
                kClasses);
}

TEST_F(ModelMessages, AnotherVersionIsAnotherArchitecture) {
  const auto hint = [&](const std::string& key, const std::string& name) {
    const std::string told = of_config_json("{\"" + key + "\": " + name + "}");
    return told.substr(told.find("mend: "), 18);
  };
  EXPECT_EQ(hint("model_type", "\"deepseek_v5\""), "mend: known: afmoe");
  EXPECT_EQ(hint("model_type", "\"gemma4\""), "mend: known: afmoe");
  EXPECT_EQ(hint("architectures", "[\"Gamma2ForCausalLM\"]"), "mend: did you mean");
  EXPECT_EQ(hint("architectures", "[\"LongcatForCausalLM\"]"), "mend: known: Afmoe");  // near by its end alone
}

TEST_F(ModelMessages, RecurrentLayersAreToldByTheirName) {
  EXPECT_EQ(of_config_json("{\"model_type\": \"falcon_mamba\"}"),
            "workloads/models/other.json:1:16: error: model_type: 'falcon_mamba' has recurrent layers, and its "
            "config.json is not read\n"
            "  mend: write its shape as a model of its own: the keys recurrent and pattern of docs/models.md");
  for (const char* name :
       {"Mamba2ForCausalLM", "JambaForCausalLM", "BambaForCausalLM", "RwkvForCausalLM", "xLSTMForCausalLM",
        "GraniteMoeHybridForCausalLM", "Plamo2ForCausalLM", "ZambaForCausalLM"}) {
    EXPECT_NE(of_config_json(std::string("{\"architectures\": [\"") + name + "\"]}").find("recurrent"),
              std::string::npos)
        << name;
  }
}

TEST_F(ModelMessages, WhatNoKeySaysIsTold) {
  EXPECT_EQ(of_config_json("{\"model_type\": \"apertus\"}"),
            "workloads/models/other.json:1:16: error: model_type: 'apertus' has an activation of its own, with learned "
            "numbers, and its config.json is not read\n"
            "  mend: write the nearest shape that the keys of docs/models.md can say");
  for (const char* name :
       {"LongcatFlashForCausalLM", "MiMoV2FlashForCausalLM", "Step3p5ForCausalLM", "CwmForCausalLM"}) {
    EXPECT_NE(of_config_json(std::string("{\"architectures\": [\"") + name + "\"]}").find("is not read"),
              std::string::npos)
        << name;
  }
}

TEST_F(ModelMessages, AnArchitectureWithoutAName) {
  EXPECT_EQ(of_config_json("{\"model_type\": \"\"}"),
            "workloads/models/other.json:1:16: error: model_type: names no architecture\n"
            "  mend: " +
                kTypes);
}

TEST_F(ModelMessages, ConfigJsonThatIsNoJson) {
  EXPECT_EQ(of_config_json("{\"model_type\": \"llama\" \"hidden_size\": 8}"),
            "workloads/models/other.json:1:24: error: is not JSON: a map in { } is not closed, or lacks a comma\n"
            "  mend: put commas between the entries and } behind the last");
}

TEST_F(ModelMessages, ConfigJsonWithTextForANumber) {
  EXPECT_EQ(of_config_json("{\"model_type\": \"llama\", \"hidden_size\": \"4096\", \"vocab_size\": 1.5}"),
            "workloads/models/other.json:1:40: error: hidden_size: '4096' is in quotes, so it is text\n"
            "  mend: write a whole number from 1 to 1000000\n"
            "workloads/models/other.json:1:62: error: vocab_size: '1.5' is not a whole number\n"
            "  mend: write a whole number from 1 to 100000000");
}

TEST_F(ModelMessages, HeadsOfAConfigJsonDivideTheHiddenSize) {
  EXPECT_EQ(of_config_json("{\"model_type\": \"llama\", \"num_attention_heads\": 31}"),
            "workloads/models/other.json:1:48: error: num_attention_heads: 31 heads do not divide a hidden size of "
            "4096\n"
            "  mend: add head_dim, or mend one of the two");
}

TEST_F(ModelMessages, HeadsDivideTheHiddenSize) {
  EXPECT_EQ(of_model("{layers: 2, hidden: 1000, heads: 16, ffn: 4000, vocab: 1000}"),
            "job.yaml:1:41: error: model.heads: 16 heads do not divide a hidden size of 1000\n"
            "  mend: add head_dim, or mend one of the two");
}

TEST_F(ModelMessages, KvHeadsDivideTheHeads) {
  EXPECT_EQ(of_model("{base: small, kv_heads: 3}"),
            "job.yaml:1:32: error: model.kv_heads: 3 do not divide 16 heads\n"
            "  mend: write a divisor of the heads: each key and value serves as many queries");
}

TEST_F(ModelMessages, AnActivationWithoutItsGate) {
  EXPECT_EQ(of_model("{base: small, gated_mlp: false, activation: swiglu}"),
            "job.yaml:1:52: error: model.activation: is a gated one, and gated_mlp is false\n"
            "  mend: write gated_mlp: true, or activation: gelu, relu or squared_relu");
}

TEST_F(ModelMessages, MoreParametersThanAreRead) {
  EXPECT_EQ(of_model("{base: small, layers: 10000, hidden: 1000000, ffn: 10000000}"),
            "job.yaml:1:30: error: model.layers: the model would have about 3.0e+17 parameters\n"
            "  mend: check layers and widths for a digit too many: at most 1e15 parameters are read");
}

TEST_F(ModelMessages, APatternOfOtherLettersOrAnotherLength) {
  const std::string recurrent = "recurrent: {kind: mamba2, heads: 16, head_dim: 64, groups: 8, state: 64}";
  EXPECT_EQ(
      of_model("{base: small, pattern: M-XM, " + recurrent + "}"),
      "job.yaml:1:31: error: model.pattern: has 'X' at its 3. place\n"
      "  mend: write M (mamba2) or G (gated_delta), * (attention), - (dense feed-forward) or E (experts) for each "
      "layer");
  EXPECT_EQ(of_model("{base: small, layers: 3, pattern: M-M-, " + recurrent + "}"),
            "job.yaml:1:42: error: model.pattern: has 4 letters for 3 layers\n"
            "  mend: write one letter a layer, or layers: 4");
  EXPECT_EQ(of_model("{base: small, layers: 2, pattern: M-}"),
            "job.yaml:1:42: error: model.pattern: has M, and the model no recurrent: {kind: mamba2, ...}\n"
            "  mend: add recurrent: {kind: mamba2, ...}");
}

TEST_F(ModelMessages, ModulesBesideAPatternSayTheirLayers) {
  EXPECT_EQ(of_model("{base: small, layers: 2, pattern: '*-', mtp: 1}"),
            "job.yaml:1:53: error: model.mtp: does not say which layers a module has, and the model has a pattern\n"
            "  mend: write mtp_pattern, such as \"*E\", or mtp: 0");
  EXPECT_EQ(of_model("{base: small, mtp: 1, mtp_pattern: '*-'}"),
            "job.yaml:1:43: error: model.mtp_pattern: is for a model with a pattern; here a module has one layer like "
            "the last\n"
            "  mend: leave mtp_pattern out");
  EXPECT_EQ(of_model("{base: small, layers: 2, pattern: '*-', mtp: 1, mtp_pattern: '*E'}"),
            "job.yaml:1:69: error: model.mtp_pattern: has 'E', which the model's pattern has not\n"
            "  mend: write letters of '*-'");
}

TEST_F(ModelMessages, GroupsOfKeysDivideTheHeads) {
  EXPECT_EQ(of_model("{base: small, recurrent: {kind: mamba2, heads: 16, head_dim: 64, groups: 3, state: 64}}"),
            "job.yaml:1:81: error: model.recurrent.groups: 3 do not divide 16 heads\n"
            "  mend: write a divisor of the heads: each group's keys serve as many");
}

TEST_F(ModelMessages, AModelWithoutItsVocabulary) {
  EXPECT_EQ(of_model("{layers: 2, hidden: 1024, heads: 16, ffn: 4096}"),
            "job.yaml:1:8: error: model.vocab: is missing\n"
            "  mend: add `vocab:` to model");
}

TEST_F(ModelMessages, AControlCharacterOfANameDoesNotEndTheMessage) {
  EXPECT_EQ(of_model("\"sm\\u0000all\"").substr(0, 61),
            "job.yaml:1:8: error: model: there is no model 'sm\\x00all'\n  m");
}

TEST_F(ModelMessages, AListIsNoModel) {
  EXPECT_EQ(of_model("[small]"),
            "job.yaml:1:8: error: model: a list is not a model\n"
            "  mend: write a name, a path or a map");
}

}  // namespace
}  // namespace config::testing
