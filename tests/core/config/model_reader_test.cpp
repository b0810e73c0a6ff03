// tests/core/config/model_reader_test.cpp
// SPDX-License-Identifier: Apache-2.0
#include "core/config/model_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/spec/parameters.h"

namespace {

using config::Faults;
using spec::Model;

const std::string kModels = std::string(FORERUN_SOURCE_DIR) + "/workloads/models/";

Model read_text(const std::string& yaml, Faults& faults) {
  return config::read_model(config::parse(yaml, "model.yaml"), "model", faults);
}
Model read_sound(const std::string& yaml) {
  Faults faults;
  Model model = read_text(yaml, faults);
  for (const base::Fault& fault : faults) ADD_FAILURE() << base::to_string(fault);
  return model;
}
std::vector<std::string> told(const std::string& yaml) {
  Faults faults;
  read_text(yaml, faults);
  std::vector<std::string> all;
  for (const base::Fault& fault : faults) all.push_back(base::to_string(fault));
  return all;
}
Model entry(const std::string& name) {
  Faults faults;
  Model model = config::read_model(config::load(kModels + name + ".yaml"), "", faults);
  for (const base::Fault& fault : faults) ADD_FAILURE() << base::to_string(fault);
  return model;
}

TEST(ModelReader, LeftOutFieldsHaveTheirStatedDefaults) {
  const Model model = read_sound("{layers: 2, hidden: 64, heads: 4, ffn: 256, vocab: 100}");
  EXPECT_EQ(model.kv_heads, 4);
  EXPECT_EQ(model.head_dim, 16);
  EXPECT_EQ(model.norm, spec::Norm::layernorm);
  EXPECT_EQ(model.activation, spec::Activation::gelu);
  EXPECT_EQ(model.position, spec::Position::rope);
  EXPECT_FALSE(model.bias || model.has_qkv_bias() || model.tied_embeddings || model.gated_mlp || model.moe ||
               model.mla);
  EXPECT_TRUE(model.causal);
}

TEST(ModelReader, AGatedModelDefaultsToSwigluAndRmsnorm) {
  const Model model = read_sound("{layers: 2, hidden: 64, heads: 4, ffn: 256, vocab: 100, gated_mlp: true}");
  EXPECT_EQ(model.norm, spec::Norm::rmsnorm);
  EXPECT_EQ(model.activation, spec::Activation::swiglu);
}

TEST(ModelReader, EveryKeyReachesItsField) {
  const Model model = read_sound(R"(
name: whole
source: somewhere
kind: transformer
layers: 4
hidden: 60
heads: 6
kv_heads: 2
head_dim: 12
ffn: 7
gated_mlp: true
activation: geglu
vocab: 100
tied_embeddings: true
norm: layernorm
norm_bias: false
position: learned
max_positions: 9
bias: true
qkv_bias: false
proj_bias: false
head_bias: true
embedding_norm: true
post_norms: true
causal: false
parallel_block: true
norms_in_parallel: 1
qk_norm: width
window: 5
window_every: 3
attention_chunk: 7
full_every: 4
nope_every: 6
attention_gate: true
attention_sinks: true
mtp: 2
mtp_repeated: true
moe: {experts: 8, top_k: 3, ffn: 11, shared_experts: 2, shared_ffn: 13, first_dense: 1, every: 2, groups: 4, top_groups: 3, router_bias: true, latent: 17, shared_gate: true}
mla: {q_lora_rank: 21, kv_lora_rank: 22, rope_head_dim: 23, nope_head_dim: 24, value_head_dim: 25}
)");
  Model expected;
  expected.name = "whole";
  expected.layers = 4;
  expected.hidden = 60;
  expected.heads = 6;
  expected.kv_heads = 2;
  expected.head_dim = 12;
  expected.ffn = 7;
  expected.gated_mlp = true;
  expected.activation = spec::Activation::geglu;
  expected.vocab = 100;
  expected.tied_embeddings = true;
  expected.norm = spec::Norm::layernorm;
  expected.norm_bias = false;
  expected.position = spec::Position::learned;
  expected.max_positions = 9;
  expected.bias = true;
  expected.qkv_bias = false;
  expected.proj_bias = false;
  expected.head_bias = true;
  expected.embedding_norm = true;
  expected.post_norms = true;
  expected.causal = false;
  expected.parallel_block = true;
  expected.norms_in_parallel = 1;
  expected.qk_norm = true;
  expected.qk_scale = spec::QkScale::width;
  expected.window = 5;
  expected.window_every = 3;
  expected.attention_chunk = 7;
  expected.full_every = 4;
  expected.nope_every = 6;
  expected.attention_gate = true;
  expected.attention_sinks = true;
  expected.mtp = 2;
  expected.mtp_repeated = true;
  expected.moe = spec::Moe{8, 3, 11, 2, 13, 1, 2, 4, 3, 17, true, true};
  expected.mla = spec::Mla{21, 22, 23, 24, 25};
  EXPECT_TRUE(model == expected);
}

TEST(ModelReader, EveryKeyOfRecurrentLayersReachesItsField) {
  const Model model = read_sound(R"(
layers: 3
hidden: 60
vocab: 100
ffn: 7
recurrent: {kind: gated_delta, heads: 6, head_dim: 5, groups: 3, state: 8, conv: 2, chunk: 16}
pattern: GG-
mtp_pattern: -G
)");
  const spec::Recurrent expected{spec::Recurrent::Kind::gated_delta, 6, 5, 3, 8, 2, 16, 0};
  EXPECT_TRUE(model.recurrent == expected);
  EXPECT_EQ(model.pattern, "GG-");
  EXPECT_EQ(model.mtp_pattern, "-G");
  // No layer attends: attention's heads, which may be left out then, are the recurrent layers'.
  EXPECT_EQ(model.heads, 6);
  EXPECT_EQ(model.head_dim, 5);
}

TEST(ModelReader, SharedExpertsAreAsWideAsOthersUnlessSaid) {
  const Model model = read_sound(
      "{layers: 2, hidden: 64, heads: 4, vocab: 100, moe: {experts: 8, top_k: 2, ffn: 32, shared_experts: 3}}");
  EXPECT_EQ(model.moe->shared_ffn, 96);
  EXPECT_EQ(model.ffn, 32);  // no layer has a dense feed-forward, so its width may be left out
}

TEST(ModelReader, HeadsThatDoNotDivideTheHiddenSizeNeedAHeadDim) {
  EXPECT_EQ(told("{layers: 2, hidden: 64, heads: 5, ffn: 256, vocab: 100}"),
            // the 5 is the 32nd character
            (std::vector<std::string>{"model.yaml:1:32: error: model.heads: 5 heads do not divide a hidden size of 64\n"
                                      "  mend: add head_dim, or mend one of the two"}));
  EXPECT_TRUE(told("{layers: 2, hidden: 64, heads: 5, head_dim: 12, ffn: 256, vocab: 100}").empty());
}

TEST(ModelReader, KvHeadsMustDivideHeads) {
  const auto faults = told("{layers: 2, hidden: 64, heads: 4, kv_heads: 3, ffn: 256, vocab: 100}");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].find("model.kv_heads: 3 do not divide 4 heads"), std::string::npos);
}

TEST(ModelReader, ActivationAndGatedMlpMustAgree) {
  auto faults = told("{layers: 2, hidden: 64, heads: 4, ffn: 256, vocab: 100, activation: swiglu}");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].find("mend: write gated_mlp: true"), std::string::npos);
  faults = told("{layers: 2, hidden: 64, heads: 4, ffn: 256, vocab: 100, activation: gelu, gated_mlp: true}");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].find("mend: write swiglu, geglu or clamped_swiglu"), std::string::npos);
}

TEST(ModelReader, EveryFaultIsToldAndAMisspeltKeyIsOfferedTheNearest) {
  const auto faults = told("{layers: 0, hidden: 64, heads: 4, fnn: 256, vocab: 100}");
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_NE(faults[0].find("model.layers: 0 is out of range"), std::string::npos);
  EXPECT_NE(faults[1].find("model.ffn: is missing"), std::string::npos);
  EXPECT_NE(faults[2].find("did you mean ffn?"), std::string::npos);
}

TEST(ModelReader, ATokenVisitsAtMostAllExperts) {
  const auto faults = told("{layers: 2, hidden: 64, heads: 4, vocab: 100, moe: {experts: 2, top_k: 3, ffn: 8}}");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].find("model.moe.top_k: a token cannot visit 3 of 2 experts"), std::string::npos);
  EXPECT_TRUE(told("{layers: 2, hidden: 64, heads: 4, vocab: 100, moe: {experts: 2, top_k: 2, ffn: 8}}").empty());
}

TEST(ModelReader, GroupsOfExpertsHoldWhatATokenVisits) {
  const auto fault = [](const std::string& groups) {
    const auto faults =
        told("{layers: 2, hidden: 64, heads: 4, vocab: 100, moe: {experts: 8, top_k: 3, ffn: 8, " + groups + "}}");
    return faults.empty() ? "" : faults[0];
  };
  EXPECT_EQ(fault("groups: 4, top_groups: 2"), "");
  EXPECT_NE(fault("groups: 3, top_groups: 2").find("moe.groups: 8 experts do not divide into 3 groups"),
            std::string::npos);
  EXPECT_NE(fault("groups: 4, top_groups: 5").find("moe.top_groups: a token cannot visit 5 of 4 groups"),
            std::string::npos);
  EXPECT_NE(fault("groups: 4").find("moe.top_groups: 1 groups of 2 experts have no 3 that a token visits"),
            std::string::npos);
}

TEST(ModelReader, WidthsWhoseProductIsAbsurdAreAFaultAndNoOverflow) {
  // Each is in its own range. A layer has 4 x 10^6 x 10^8 weights in attention and 3 x 10^6 x 10^7 in its feed-forward,
  // 4.3 x 10^14 together; there are 10^4 layers.
  const auto faults =
      told("{layers: 10000, hidden: 1000000, heads: 10000, head_dim: 10000, ffn: 10000000, vocab: 100000000}");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].find("model.layers: the model would have about 4.3e+18 parameters"), std::string::npos);
}

TEST(ModelReader, AnythingButAMapIsOneFault) {
  Faults faults;
  config::read_model(config::parse("[1, 2]", "model.yaml"), "model", faults);
  EXPECT_EQ(faults.size(), 1u);
}

// Totals as published with the weights, which hold for the shapes above them: the number of elements in the
// checkpoint's tensors, a tied head counted once.
TEST(ModelCatalogue, PublishedParameterCountsAreMetExactly) {
  const std::vector<std::pair<const char*, std::int64_t>> published{{"bloom-176b", 176'247'271'424},
                                                                    {"bloom-560m", 559'214'592},
                                                                    {"bloom-7b1", 7'069'016'064},
                                                                    {"dbrx", 131'596'523'520},
                                                                    {"deepseek-v2", 235'741'434'880},
                                                                    {"deepseek-v3", 671'026'419'200},
                                                                    {"falcon-180b", 178'557'088'768},
                                                                    {"falcon-40b", 41'303'293'952},
                                                                    {"falcon-7b", 6'921'720'704},
                                                                    {"gemma-2b", 2'506'172'416},
                                                                    {"gemma-7b", 8'537'680'896},
                                                                    {"gemma2-27b", 27'227'128'320},
                                                                    {"gemma2-2b", 2'614'341'888},
                                                                    {"gemma2-9b", 9'241'705'984},
                                                                    {"gpt-j-6b", 6'050'882'784},
                                                                    {"gpt-neox-20b", 20'554'567'680},
                                                                    {"gpt-oss-120b", 116'829'156'672},
                                                                    {"gpt-oss-20b", 20'914'757'184},
                                                                    {"gpt2", 124'439'808},
                                                                    {"gpt2-large", 774'030'080},
                                                                    {"gpt2-medium", 354'823'168},
                                                                    {"gpt2-xl", 1'557'611'200},
                                                                    {"kimi-k2", 1'026'408'232'448},
                                                                    {"ling-1t", 999'705'328'640},
                                                                    {"ling-flash-2.0", 102'889'705'216},
                                                                    {"llama-13b", 13'015'864'320},
                                                                    {"llama-33b", 32'528'943'616},
                                                                    {"llama-65b", 65'285'660'672},
                                                                    {"llama-7b", 6'738'415'616},
                                                                    {"llama2-13b", 13'015'864'320},
                                                                    {"llama2-70b", 68'976'648'192},
                                                                    {"llama2-7b", 6'738'415'616},
                                                                    {"llama3-70b", 70'553'706'496},
                                                                    {"llama3-8b", 8'030'261'248},
                                                                    {"llama3.1-405b", 405'853'388'800},
                                                                    {"llama3.1-70b", 70'553'706'496},
                                                                    {"llama3.1-8b", 8'030'261'248},
                                                                    {"llama3.2-1b", 1'235'814'400},
                                                                    {"llama3.2-3b", 3'212'749'824},
                                                                    {"minimax-m2", 228'689'764'864},
                                                                    {"mistral-7b", 7'241'732'096},
                                                                    {"mistral-large-123b", 122'610'069'504},
                                                                    {"mistral-small-24b", 23'572'403'200},
                                                                    {"mixtral-8x22b", 140'620'634'112},
                                                                    {"mixtral-8x7b", 46'702'792'704},
                                                                    {"mpt-7b", 6'649'286'656},
                                                                    {"nemotron-3-nano-30b-a3b", 31'577'940'288},
                                                                    {"olmo2-13b", 13'716'198'400},
                                                                    {"olmo2-32b", 32'234'279'936},
                                                                    {"olmo2-7b", 7'298'617'344},
                                                                    {"olmo3-32b", 32'233'522'176},
                                                                    {"olmo3-7b", 7'298'011'136},
                                                                    {"olmoe-1b-7b", 6'919'161'856},
                                                                    {"opt-1.3b", 1'315'758'080},
                                                                    {"opt-125m", 125'239'296},
                                                                    {"opt-13b", 12'853'473'280},
                                                                    {"opt-2.7b", 2'651'596'800},
                                                                    {"opt-30b", 29'974'540'288},
                                                                    {"opt-6.7b", 6'658'473'984},
                                                                    {"phi-2", 2'779'683'840},
                                                                    {"phi-3-mini", 3'821'079'552},
                                                                    {"phi-4", 14'659'507'200},
                                                                    {"qwen2.5-0.5b", 494'032'768},
                                                                    {"qwen2.5-1.5b", 1'543'714'304},
                                                                    {"qwen2.5-14b", 14'770'033'664},
                                                                    {"qwen2.5-32b", 32'763'876'352},
                                                                    {"qwen2.5-72b", 72'706'203'648},
                                                                    {"qwen2.5-7b", 7'615'616'512},
                                                                    {"qwen3-0.6b", 596'049'920},
                                                                    {"qwen3-1.7b", 1'720'574'976},
                                                                    {"qwen3-14b", 14'768'307'200},
                                                                    {"qwen3-235b-a22b", 235'093'634'560},
                                                                    {"qwen3-30b-a3b", 30'532'122'624},
                                                                    {"qwen3-32b", 32'762'123'264},
                                                                    {"qwen3-4b", 4'022'468'096},
                                                                    {"qwen3-8b", 8'190'735'360},
                                                                    {"qwen3-coder-480b-a35b", 480'154'875'392},
                                                                    {"seed-oss-36b", 36'151'104'512},
                                                                    {"smollm3-3b", 3'075'098'624},
                                                                    {"trinity-large-400b-a13b", 398'635'286'016}};
  for (const auto& [name, count] : published) EXPECT_EQ(spec::parameters(entry(name)).total(), count) << name;
}

// Models for text and images, of which the catalogue has the text part. The vision tower and projector of Gemma 3 have
// 416,866,032 parameters and 1152 (hidden + 1) more, those of Llama 4 871,932,416: what the published totals have more.
TEST(ModelCatalogue, TextPartsAreThePublishedCountsLessTheVisionPart) {
  const auto text = [](const char* name) { return spec::parameters(entry(name)).total(); };
  EXPECT_EQ(text("gemma3-4b") + 416'866'032 + 1152 * (2560 + 1), 4'300'079'472);
  EXPECT_EQ(text("gemma3-12b") + 416'866'032 + 1152 * (3840 + 1), 12'187'325'040);
  EXPECT_EQ(text("gemma3-27b") + 416'866'032 + 1152 * (5376 + 1), 27'432'406'640);
  EXPECT_EQ(text("llama4-scout-17b-16e") + 871'932'416, 108'641'793'536);
  EXPECT_EQ(text("llama4-maverick-17b-128e") + 871'932'416, 401'583'781'376);
}

// Its weights are published with the layer that predicts a further token, which has copies of embedding and head.
TEST(ModelCatalogue, GlmIsItsPublishedCountLessItsFurtherLayersCopies) {
  const auto with_further = [](const char* name) {
    Model model = entry(name);
    model.mtp = 1;
    return spec::parameters(model).total() + 2 * model.vocab * model.hidden;
  };
  EXPECT_EQ(with_further("glm-4.5"), 358'337'791'296);
  EXPECT_EQ(with_further("glm-4.5-air"), 110'468'824'832);
  EXPECT_EQ(with_further("glm-4.7-flash"), 31'221'488'576);
}

// Published with its module of further tokens, which has no copies.
TEST(ModelCatalogue, Hy3IsItsPublishedCountWithItsModule) {
  Model model = entry("hy3-295b-a21b");
  model.mtp = 1;
  EXPECT_EQ(spec::parameters(model).total(), 298'786'155'776);
}

// With its module of further tokens, as published: Megatron-Bridge's verification cards of Super (@d5d8c192) and Ultra
// (@67e05799); Megatron-Bridge's export of Lightning. Run twice, the module is still one.
TEST(ModelCatalogue, Nemotron3IsItsPublishedCountWithOneModule) {
  const auto with_module = [](const char* name, int times) {
    Model model = entry(name);
    model.mtp = times;
    model.mtp_repeated = times > 1;
    return spec::parameters(model).total();
  };
  EXPECT_EQ(with_module("nemotron-3-super-120b-a12b", 1), 123'611'033'088);
  EXPECT_EQ(with_module("nemotron-3-super-120b-a12b", 2), 123'611'033'088);
  EXPECT_EQ(with_module("nemotron-3-ultra-550b-a55b", 1), 560'524'603'904);
  EXPECT_EQ(with_module("nemotron-3.5-lightning-30b-a3b", 1), 32'913'266'240);
}

// Megatron-Bridge's verification card of GLM-5.2 (@17548237): 753,329,940,480 numbers in its checkpoint, module of
// further tokens included; Transformers counts 743,377,000,704 without it, and not the 256 balancing biases of 75
// layers. GLM-5 has an indexer in all 78 layers instead of 21, DeepSeek-V3.2 one in each of DeepSeek-V3's 61.
TEST(ModelCatalogue, ModelsBehindIndexersAreTheirPublishedCounts) {
  Model shared = entry("glm-5.2");
  EXPECT_EQ(spec::parameters(shared).total(), 743'377'000'704 + 75 * 256);
  shared.mtp = 1;
  EXPECT_EQ(spec::parameters(shared).total(), 753'329'940'480);
  const std::int64_t one = 2048 * 32 * 128 + 6144 * (128 + 32) + 2 * 128;
  EXPECT_EQ(spec::parameters(entry("glm-5")).total(), 743'377'019'904 + 57 * one);
  const std::int64_t of_v32 = 1536 * 64 * 128 + 7168 * (128 + 64) + 2 * 128;
  EXPECT_EQ(spec::parameters(entry("deepseek-v3.2")).total(), 671'026'419'200 + 61 * of_v32);
}

// Nemotron-4 15B (arXiv 2402.16819): 12.5 billion beside the embeddings; 340B (arXiv 2406.11704): 331.6, and 9.4 of
// embeddings. A layer of the larger: attention 2 x 18432^2 + 2 x 18432 x 8 x 192, feed-forward 2 x 18432 x 73728, two
// norms of 2 x 18432.
TEST(ModelCatalogue, NemotronsAreTheirPublishedSizes) {
  const spec::Parameters small = spec::parameters(entry("nemotron-4-15b"));
  EXPECT_NEAR(static_cast<double>(small.total() - small.embedding - small.head), 12.5e9, 0.05e9);
  const spec::Parameters large = spec::parameters(entry("nemotron-4-340b"));
  EXPECT_NEAR(static_cast<double>(large.embedding + large.head), 9.4e9, 0.05e9);
  const std::int64_t layer = 679'477'248 + 56'623'104 + 2'717'908'992 + 73'728;
  EXPECT_EQ(large.total() - large.embedding - large.head, 96 * layer + 2 * 18'432);
  EXPECT_NEAR(static_cast<double>(96 * layer), 331.6e9, 0.05e9);
}

// Sizes that were published rounded: billions, of the model cards of Command A, Hunyuan-A13B and Mistral Large 3 (its
// language model), of the README of ibm-granite/granite-3.1-language-models (@255bff67) and of ERNIE's name. llama.cpp
// counts 32.57 in GLM-4-32B's weights.
TEST(ModelCatalogue, ModelsRoundToTheirPublishedSizes) {
  const std::vector<std::pair<const char*, double>> published{{"command-a-111b", 111}, {"ernie-4.5-300b-a47b", 300},
                                                              {"glm-4-32b", 32.57},    {"granite-3.1-8b", 8},
                                                              {"hunyuan-a13b", 80},    {"mistral-large-3", 673}};
  for (const auto& [name, billions] : published) {
    const double size = static_cast<double>(spec::parameters(entry(name)).total()) / 1e9;
    EXPECT_NEAR(size, billions, billions == 32.57 ? 0.00501 : 0.53) << name;
  }
}

TEST(ModelCatalogue, GrokIsWhatItsPublishedShapeMakes) {
  // A layer: attention 2 x 6144^2 + 2 x 6144 x 1024, router 8 x 6144, experts 8 x 3 x 6144 x 32768, four norms of 6144.
  const std::int64_t layer = 88'080'384 + 49'152 + 4'831'838'208 + 24'576;
  EXPECT_EQ(spec::parameters(entry("grok-1")).total(), 64 * layer + 131'072 * 6'144 + 6'144);
}

// Narayanan et al. (arXiv 2104.04473), Table 1, and Korthikanti et al. (arXiv 2205.05198), Table 3: billions, rounded.
TEST(ModelCatalogue, MegatronsModelsRoundToTheirPublishedSizes) {
  const std::vector<std::pair<const char*, double>> published{
      {"gpt-1.7b", 1.7},   {"gpt-3.6b", 3.6},     {"gpt-7.5b", 7.5},     {"gpt-18.4b", 18.4},   {"gpt-39.1b", 39.1},
      {"gpt-76.1b", 76.1}, {"gpt-145.6b", 145.6}, {"gpt-310.1b", 310.1}, {"gpt-529.6b", 529.6}, {"gpt-1008b", 1008.0}};
  for (const auto& [name, billions] : published) {
    const double size = static_cast<double>(spec::parameters(entry(name)).total()) / 1e9;
    EXPECT_NEAR(size, billions, 0.0501) << name;
  }
  EXPECT_NEAR(static_cast<double>(spec::parameters(entry("gpt-22b")).total()), 22e9, 0.5e9);
  EXPECT_NEAR(static_cast<double>(spec::parameters(entry("gpt3-175b")).total()), 175e9, 0.5e9);
}

TEST(ModelCatalogue, EveryEntryIsSoundNamedAfterItsFileAndHasASource) {
  int entries = 0;
  for (const auto& file : std::filesystem::directory_iterator(kModels)) {
    const std::string name = file.path().stem().string();
    EXPECT_EQ(entry(name).name, name);
    const config::Value tree = config::load(file.path().string());
    EXPECT_NE(tree.find("source"), nullptr) << name;
    ++entries;
  }
  EXPECT_GE(entries, 45);
}

// A convolution in x out x kernel^2, a batchnorm 2 a channel, the last layer 2048 x 1000 + 1000: 25,557,032 as
// published.
TEST(ModelCatalogue, ResnetsOperatorsHoldItsPublishedParameters) {
  EXPECT_EQ(entry("resnet50").kind, "layers");
  const config::Value tree = config::load(kModels + "resnet50.yaml");
  long long total = 0;
  int convolutions = 0;
  for (const config::Value& op : tree.find("operators")->items) {
    const auto number = [&](const char* key) { return std::stoll(op.find(key)->text); };
    const std::string& type = op.find("type")->text;
    if (type == "convolution") {
      total += number("in") * number("out") * number("kernel") * number("kernel");
      ++convolutions;
    } else if (type == "batchnorm") {
      total += 2 * number("channels");
    } else if (type == "dense") {
      total += (number("in") + 1) * number("out");
    }
  }
  EXPECT_EQ(convolutions, 53);
  EXPECT_EQ(total, 25'557'032);
}

}  // namespace
