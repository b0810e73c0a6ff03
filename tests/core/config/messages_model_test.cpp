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
    "known: bloom, dbrx, deepseek_v2, deepseek_v3, kimi_k2, deepseek_v32, falcon, gemma, gemma2, gemma3, "
    "gemma3_text, glm4_moe, glm_moe_dsa, gpt2, gpt_neox, gpt_oss, gptj, llama, llama4, llama4_text, mistral, "
    "mixtral, mpt, nemotron, nemotron_h, olmo2, opt, phi, phi-msft, phi3, qwen2, qwen3, qwen3_5, qwen3_5_moe, "
    "qwen3_5_moe_text, qwen3_5_text, qwen3_moe, qwen3_next, smollm3";
const std::string kClasses =
    "known: BloomForCausalLM, DbrxForCausalLM, DeepseekV2ForCausalLM, DeepseekV3ForCausalLM, DeepseekV32ForCausalLM, "
    "FalconForCausalLM, GemmaForCausalLM, Gemma2ForCausalLM, Gemma3ForConditionalGeneration, "
    "Gemma3ForCausalLM, Glm4MoeForCausalLM, GlmMoeDsaForCausalLM, GPT2LMHeadModel, GPTNeoXForCausalLM, "
    "GptOssForCausalLM, "
    "GPTJForCausalLM, LlamaForCausalLM, Llama4ForConditionalGeneration, Llama4ForCausalLM, "
    "MistralForCausalLM, MixtralForCausalLM, MPTForCausalLM, NemotronForCausalLM, NemotronHForCausalLM, "
    "Olmo2ForCausalLM, OPTForCausalLM, PhiForCausalLM, Phi3ForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM, "
    "Qwen3_5ForConditionalGeneration, Qwen3_5MoeForConditionalGeneration, Qwen3_5MoeForCausalLM, Qwen3_5ForCausalLM, "
    "Qwen3MoeForCausalLM, Qwen3NextForCausalLM, SmolLM3ForCausalLM";

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
  EXPECT_EQ(hint("model_type", "\"deepseek_v5\""), "mend: known: bloom");
  EXPECT_EQ(hint("model_type", "\"gemma4\""), "mend: known: bloom");
  EXPECT_EQ(hint("architectures", "[\"Gamma2ForCausalLM\"]"), "mend: did you mean");
  EXPECT_EQ(hint("architectures", "[\"Cohere2ForCausalLM\"]"), "mend: known: Bloom");  // near by its end alone
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
