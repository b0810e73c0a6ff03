// tests/core/config/huggingface_test.cpp
// SPDX-License-Identifier: Apache-2.0
#include "core/config/huggingface.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/config/model_reader.h"
#include "core/spec/parameters.h"

namespace {

using config::Faults;
using spec::Model;

const std::string kRoot = FORERUN_SOURCE_DIR;

Model read_text(const std::string& json, Faults& faults) {
  return config::read_huggingface(config::parse(json, "config.json"), "config", faults);
}
Model read_sound(const std::string& json) {
  Faults faults;
  Model model = read_text(json, faults);
  for (const base::Fault& fault : faults) ADD_FAILURE() << base::to_string(fault);
  return model;
}

/// Without the name, and with the defaults of left-out biases written out.
Model shape_of(Model model) {
  model.name.clear();
  model.qkv_bias = model.has_qkv_bias();
  model.proj_bias = model.has_proj_bias();
  return model;
}

/// Field by field, so that a test names the one that differs.
std::string fields(const Model& given) {
  const Model m = shape_of(given);
  std::string text;
  const auto add = [&](const char* field, auto value) {
    text += std::string(field) + ' ' + std::to_string(static_cast<long long>(value)) + '\n';
  };
  add("layers", m.layers), add("hidden", m.hidden), add("heads", m.heads), add("kv_heads", m.kv_heads);
  add("head_dim", m.head_dim), add("ffn", m.ffn), add("gated_mlp", m.gated_mlp), add("activation", m.activation);
  add("vocab", m.vocab), add("tied_embeddings", m.tied_embeddings), add("norm", m.norm), add("position", m.position);
  add("max_positions", m.max_positions), add("bias", m.bias), add("qkv_bias", *m.qkv_bias);
  add("proj_bias", *m.proj_bias), add("head_bias", m.head_bias), add("norm_bias", m.norm_bias);
  add("embedding_norm", m.embedding_norm), add("post_norms", m.post_norms), add("causal", m.causal);
  add("parallel_block", m.parallel_block), add("norms_in_parallel", m.norms_in_parallel), add("qk_norm", m.qk_norm);
  add("window", m.window), add("window_every", m.window_every), add("attention_sinks", m.attention_sinks);
  add("attention_chunk", m.attention_chunk), add("full_every", m.full_every), add("nope_every", m.nope_every);
  add("qk_scale", m.qk_scale);
  return text;
}

TEST(HuggingFace, FiguresThatAreTheLibrarysAreTold) {
  Faults faults;
  std::vector<std::string> told;
  const auto json = R"({"model_type": "llama", "num_hidden_layer": 40, "hidden_size": 4096, "vocab_size": 32000,
                        "num_attention_heads": 32, "num_key_value_heads": null, "max_position_embeddings": 4096})";
  config::read_huggingface(config::parse(json, "a/config.json"), "config", faults, &told);
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(told, (std::vector<std::string>{
                      "model.layers: 32 (Transformers' default, config.json has no num_hidden_layers)",
                      "model.ffn: 11008 (Transformers' default, config.json has no intermediate_size)"}));
}

TEST(HuggingFace, PartsThatNoKeySaysAreTold) {
  Faults faults;
  std::vector<std::string> told;
  const auto json = R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 96,
                        "vocab_size": 128, "num_attention_heads": 4, "num_key_value_heads": 4,
                        "max_position_embeddings": 2048,
                        "quantization_config": {"load_in_4bit": true}, "vision_config": {"depth": 32}})";
  config::read_huggingface(config::parse(json, "a/config.json"), "config", faults, &told);
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(told, (std::vector<std::string>{
                      "model: in the Job's own precision, not quantised (config.json has quantization_config)",
                      "model: its text alone, without images (config.json has vision_config)"}));
}

// Each file holds the published figures under the library's keys; the catalogue holds them under ours.
class PublishedConfig : public testing::TestWithParam<const char*> {};

TEST_P(PublishedConfig, IsTheSameModelAsTheCatalogues) {
  const std::string name = GetParam();
  Faults faults;
  const config::Value tree = config::load(kRoot + "/tests/data/huggingface/" + name + ".json");
  EXPECT_TRUE(config::is_huggingface(tree));
  const Model theirs = config::read_huggingface(tree, name, faults);
  const Model ours = config::read_model(config::load(kRoot + "/workloads/models/" + name + ".yaml"), "", faults);
  for (const base::Fault& fault : faults) ADD_FAILURE() << base::to_string(fault);
  EXPECT_EQ(spec::parameters(theirs).total(), spec::parameters(ours).total());
  EXPECT_EQ(fields(theirs), fields(ours));
  EXPECT_TRUE(shape_of(theirs) == shape_of(ours));  // experts and latent attention too
}

INSTANTIATE_TEST_SUITE_P(
    All, PublishedConfig,
    testing::Values("bloom-176b", "command-a-111b", "dbrx", "deepseek-v2", "deepseek-v3", "ernie-4.5-300b-a47b",
                    "falcon-180b", "falcon-40b", "falcon-7b", "gemma-7b", "gemma2-9b", "gemma3-27b", "gemma3-4b",
                    "glm-4-32b", "glm-4.5", "glm-4.5-air", "glm-4.7-flash", "gpt-j-6b", "gpt-neox-20b", "gpt-oss-20b",
                    "gpt2", "gpt2-xl", "granite-3.1-8b", "hunyuan-a13b", "hy3-295b-a21b", "kimi-k2", "ling-1t",
                    "ling-flash-2.0", "llama-7b", "llama2-70b", "llama2-7b", "llama3-70b", "llama3.2-1b",
                    "llama4-maverick-17b-128e", "llama4-scout-17b-16e", "minimax-m2", "mistral-7b", "mistral-small-24b",
                    "mixtral-8x7b", "mpt-7b", "nemotron-4-15b", "olmo2-32b", "olmo3-32b", "olmo3-7b", "olmoe-1b-7b",
                    "opt-125m", "phi-2", "phi-3-mini", "phi-4", "qwen2.5-0.5b", "qwen2.5-7b", "qwen3-30b-a3b",
                    "qwen3-8b", "qwen3-coder-480b-a35b", "seed-oss-36b", "smollm3-3b", "trinity-large-400b-a13b"));

TEST(HuggingFace, AnOrdinaryModelFileIsNone) {
  EXPECT_FALSE(config::is_huggingface(config::parse("{layers: 2, hidden: 8}", "model.yaml")));
  EXPECT_TRUE(config::is_huggingface(config::parse(R"({"architectures": ["LlamaForCausalLM"]})", "config.json")));
}

TEST(HuggingFace, AbsentKeysMeanWhatTheLibraryTakes) {
  // GPT2Config() is GPT-2 small.
  EXPECT_EQ(spec::parameters(read_sound(R"({"model_type": "gpt2"})")).total(), 124'439'808);
  // LlamaConfig() is LLaMA 7B.
  EXPECT_EQ(spec::parameters(read_sound(R"({"model_type": "llama"})")).total(), 6'738'415'616);
}

TEST(HuggingFace, TheClassNameServesWhereTheModelTypeIsAbsent) {
  const Model model = read_sound(R"({"architectures": ["GPT2LMHeadModel"], "n_layer": 24})");
  EXPECT_EQ(model.layers, 24);
  EXPECT_EQ(model.position, spec::Position::learned);
}

/// An entry of the catalogue.
Model entry(const std::string& name) {
  config::Faults faults;
  return config::read_model(config::load(kRoot + "/workloads/models/" + name + ".yaml"), "", faults);
}

TEST(HuggingFace, HybridsTellTheirLayersByLettersOrByKinds) {
  const char* text = R"({"model_type": "nemotron_h", "num_hidden_layers": 52, "hidden_size": 2688,
      "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 131072,
      "mamba_num_heads": 64, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4,
      "chunk_size": 128, "mlp_hidden_act": "relu2", "n_routed_experts": 128, "num_experts_per_tok": 6,
      "moe_intermediate_size": 1856, "n_shared_experts": 1, "moe_shared_expert_intermediate_size": 3712,
      "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"})";
  const Model nano = read_sound(text), ours = entry("nemotron-3-nano-30b-a3b");
  EXPECT_EQ(nano.pattern, ours.pattern);
  EXPECT_TRUE(nano.recurrent == ours.recurrent);
  EXPECT_TRUE(nano.moe == ours.moe);
  EXPECT_EQ(spec::parameters(nano).total(), spec::parameters(ours).total());
  const Model listed = read_sound(R"({"model_type": "nemotron_h", "num_hidden_layers": 4,
      "layers_block_type": ["mamba", "mlp", "attention", "mamba"]})");
  EXPECT_EQ(listed.pattern, "M-*M");
}

TEST(HuggingFace, ExpertsBehindAProjectionAndAModuleOfItsOwnLayersAreRead) {
  // Nemotron 3 Super's figures, by letters; Ultra's, by kinds and without a number of layers.
  const Model super = read_sound(R"({"model_type": "nemotron_h", "num_hidden_layers": 88, "hidden_size": 4096,
      "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 131072,
      "mamba_num_heads": 128, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "chunk_size": 128,
      "mlp_hidden_act": "relu2", "n_routed_experts": 512, "num_experts_per_tok": 22, "moe_intermediate_size": 2688,
      "moe_latent_size": 1024, "n_shared_experts": 1, "moe_shared_expert_intermediate_size": 5376,
      "num_nextn_predict_layers": 1, "mtp_hybrid_override_pattern": "*E", "hybrid_override_pattern":
      "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"})");
  EXPECT_TRUE(super.moe == entry("nemotron-3-super-120b-a12b").moe);
  EXPECT_EQ(spec::parameters(super).total(), spec::parameters(entry("nemotron-3-super-120b-a12b")).total());
  const Model kinds = read_sound(R"({"model_type": "nemotron_h", "num_hidden_layers": null, "n_routed_experts": 8,
      "num_experts_per_tok": 2, "moe_intermediate_size": 512, "moe_latent_size": 64,
      "layers_block_type": ["mamba", "moe", "attention"], "num_nextn_predict_layers": 1,
      "mtp_layers_block_type": ["attention", "moe"]})");
  EXPECT_EQ(kinds.layers, 3);
  EXPECT_EQ(kinds.pattern, "ME*");
  EXPECT_EQ(kinds.mtp_pattern, "*E");
}

TEST(HuggingFace, IndexersAreReadAndSharedOnesByTheirTwoNumbers) {
  const std::string shape = R"("hidden_size": 6144, "intermediate_size": 12288, "num_hidden_layers": 78,
      "num_attention_heads": 64, "num_key_value_heads": 64, "vocab_size": 154880, "q_lora_rank": 2048,
      "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 192, "v_head_dim": 256, "n_routed_experts": 256,
      "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3,
      "n_group": 1, "topk_group": 1, "head_dim": 192, "index_topk": 2048, "index_n_heads": 32, "index_head_dim": 128)";
  const Model all = read_sound(R"({"model_type": "glm_moe_dsa", )" + shape + "}");
  EXPECT_TRUE(all.indexer == entry("glm-5").indexer);
  EXPECT_TRUE(all.moe == entry("glm-5").moe);
  EXPECT_EQ(spec::parameters(all).total(), spec::parameters(entry("glm-5")).total());
  const std::string shared = R"(, "index_topk_freq": 4, "index_skip_topk_offset": 3)";
  const Model some = read_sound(R"({"model_type": "glm_moe_dsa", )" + shape + shared + "}");
  EXPECT_TRUE(some.indexer == entry("glm-5.2").indexer);
  EXPECT_EQ(spec::parameters(some).total(), spec::parameters(entry("glm-5.2")).total());
  Faults faults;  // a list of another rhythm
  read_text(R"({"model_type": "glm_moe_dsa", )" + shape + shared + R"(, "indexer_types": ["full", "shared"]})", faults);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].field, "indexer_types");
}

TEST(HuggingFace, DeepSeekV32IsV3BehindIndexers) {
  const Model model = read_sound(R"({"model_type": "deepseek_v32", "hidden_size": 7168, "intermediate_size": 18432,
      "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "vocab_size": 129280,
      "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "n_routed_experts": 256,
      "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3})");
  EXPECT_TRUE(model.indexer == entry("deepseek-v3.2").indexer);
  EXPECT_TRUE(model.moe == entry("deepseek-v3").moe);
}

TEST(HuggingFace, LinearAttentionTakesTurnsWithFullAttention) {
  // Qwen3NextConfig() is the 80B; Qwen3.5's text part stands inside that of a model for images.
  const Model next = read_sound(R"({"model_type": "qwen3_next"})"), ours = entry("qwen3-next-80b-a3b");
  EXPECT_TRUE(next.recurrent == ours.recurrent);
  EXPECT_TRUE(next.moe == ours.moe);
  EXPECT_TRUE(next.attention_gate);
  EXPECT_EQ(spec::parameters(next).total(), spec::parameters(ours).total());
  const Model dense = read_sound(R"({"model_type": "qwen3_5", "text_config": {"num_hidden_layers": 64,
      "hidden_size": 5120, "intermediate_size": 17408, "num_attention_heads": 24, "num_key_value_heads": 4,
      "linear_num_value_heads": 48, "attn_output_gate": true}})");
  EXPECT_EQ(spec::parameters(dense).total(), spec::parameters(entry("qwen3.5-27b")).total());
}

TEST(HuggingFace, NullWindowIsFullAttentionAndAnAbsentOneIsTheLibrarys) {
  EXPECT_EQ(read_sound(R"({"model_type": "mistral", "sliding_window": null})").window, 0);
  EXPECT_EQ(read_sound(R"({"model_type": "mistral"})").window, 4096);
}

TEST(HuggingFace, NullKvHeadsAreAsManyAsHeadsAndAbsentOnesTheLibrarys) {
  EXPECT_EQ(read_sound(R"({"model_type": "mistral", "num_key_value_heads": null})").kv_heads, 32);
  EXPECT_EQ(read_sound(R"({"model_type": "mistral"})").kv_heads, 8);
}

TEST(HuggingFace, TheNameIsTheLastPartOfThePathOrElseTheFiles) {
  EXPECT_EQ(read_sound(R"({"model_type": "gpt2", "_name_or_path": "someone/my-gpt"})").name, "my-gpt");
  EXPECT_EQ(read_sound(R"({"model_type": "gpt2"})").name, "gpt2");
}

TEST(HuggingFace, PhisFirstFilesHaveTheKeysOfGpt2) {
  const Model model = read_sound(R"({"model_type": "phi-msft", "n_embd": 2560, "n_layer": 32, "n_head": 32,
      "n_head_kv": null, "n_inner": null, "n_positions": 2048, "vocab_size": 51200, "activation_function": "gelu_new"})");
  EXPECT_EQ(spec::parameters(model).total(), 2'779'683'840);  // Phi-2
}

TEST(HuggingFace, DenseLayersThatOpenAModelOfExpertsAreRead) {
  const Model model = read_sound(R"({"model_type": "qwen3_moe", "num_hidden_layers": 4, "mlp_only_layers": [1, 0]})");
  EXPECT_EQ(model.moe->first_dense, 2);
  Faults faults;
  read_text(R"({"model_type": "qwen3_moe", "mlp_only_layers": [0, 5]})", faults);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].field, "mlp_only_layers");
}

TEST(HuggingFace, ExpertsAreCountedUnderTheirOldAndTheirNewName) {
  EXPECT_EQ(read_sound(R"({"model_type": "qwen3_moe", "num_experts": 16})").moe->experts, 16);
  EXPECT_EQ(read_sound(R"({"model_type": "qwen3_moe", "num_local_experts": 16})").moe->experts, 16);
}

TEST(HuggingFace, UncompressedQueriesAreARankOfNull) {
  const Model model = read_sound(R"({"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944,
      "num_hidden_layers": 27, "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 102400,
      "q_lora_rank": null, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
      "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 1408,
      "first_k_dense_replace": 1})");
  EXPECT_EQ(model.mla->q_lora_rank, 0);
  EXPECT_EQ(spec::parameters(model).total(), 15'706'484'224);  // DeepSeek-V2-Lite
}

TEST(HuggingFace, AnUnknownArchitectureIsToldWithThoseThatAreKnown) {
  Faults faults;
  read_text(R"({"model_type": "t5"})", faults);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(
      base::to_string(faults[0]),
      "config.json:1:16: error: model_type: 't5' is not known\n"
      "  mend: known: afmoe, aquila, arcee, baichuan, bailing_moe, bailing_moe_v2, bloom, chatglm, cohere, "
      "cohere2, dbrx, deepseek, deepseek_v2, deepseek_v3, kimi_k2, deepseek_v32, dots1, ernie4_5, ernie4_5_moe, "
      "exaone4, "
      "exaone_moe, falcon, gemma, gemma2, gemma3, gemma3_text, glm, glm4, glm4_moe, glm4_moe_lite, "
      "glm4v_moe, glm_moe_dsa, gpt2, gpt_bigcode, gpt_neox, gpt_oss, gptj, granite, granitemoe, granitemoeshared, "
      "helium, hunyuan_v1_dense, hunyuan_v1_moe, hy_v3, internlm2, internlm3, jais2, kimi_k25, llama, "
      "llama4, llama4_text, mimo, minimax_m2, ministral, ministral3, mistral, mistral3, mistral4, mixtral, "
      "mpt, nemotron, nemotron_h, olmo2, olmo3, olmoe, opt, phi, phi-msft, phi3, phimoe, qwen2, qwen2_5_vl, "
      "qwen2_moe, qwen2_vl, qwen3, qwen3_5, qwen3_5_moe, qwen3_5_moe_text, qwen3_5_text, qwen3_moe, "
      "qwen3_next, qwen3_vl, qwen3_vl_moe, seed_oss, smollm3, solar_open, stablelm, starcoder2, xverse, Yi");
}

TEST(HuggingFace, AnOptWithAProjectedEmbeddingIsRefused) {
  Faults faults;  // opt-350m: both of its oddities are told
  read_text(R"({"model_type": "opt", "hidden_size": 1024, "num_attention_heads": 16, "ffn_dim": 4096,
      "num_hidden_layers": 24, "word_embed_proj_dim": 512, "do_layer_norm_before": false})",
            faults);
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].field, "do_layer_norm_before");
  EXPECT_EQ(faults[1].field, "word_embed_proj_dim");
}

TEST(HuggingFace, AWindowInTheLastLayersAloneIsRefused) {
  Faults faults;
  read_text(R"({"model_type": "qwen2", "use_sliding_window": true, "max_window_layers": 28})", faults);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].field, "max_window_layers");
  // In as many layers as the model has there is none.
  EXPECT_EQ(read_sound(R"({"model_type": "qwen2", "use_sliding_window": true, "max_window_layers": 32})").window, 0);
}

TEST(HuggingFace, LayersThatDifferInNoRhythmAreRefused) {
  Faults faults;  // layers without rotary embedding: the second and the third
  read_text(R"({"model_type": "smollm3", "num_hidden_layers": 4, "no_rope_layers": [1, 0, 0, 1]})", faults);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].field, "no_rope_layers");
  EXPECT_EQ(faults[0].what, "layer 2 breaks the pattern of those before it");
  faults.clear();  // experts in the first layer, where every second layer's would be in the second
  read_text(R"({"model_type": "llama4_text", "interleave_moe_layer_step": 2, "moe_layers": [0]})", faults);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].field, "moe_layers");
}

TEST(HuggingFace, AListOfLayersAndADistanceSayTheSame) {
  EXPECT_EQ(read_sound(R"({"model_type": "smollm3", "no_rope_layers": [1, 1, 0, 1, 1, 0, 1]})").nope_every, 3);
  EXPECT_EQ(read_sound(R"({"model_type": "smollm3", "no_rope_layers": [1, 1, 1, 1]})").nope_every, 0);
  EXPECT_EQ(read_sound(R"({"model_type": "smollm3", "no_rope_layer_interval": 5})").nope_every, 5);
  EXPECT_EQ(read_sound(R"({"model_type": "gemma3_text", "sliding_window_pattern": 2})").full_every, 2);
}

TEST(HuggingFace, LayersWithAWindowAreThoseThatTheFileLists) {
  const auto read = [](const std::string& type, const std::string& kinds) {
    const Model model = read_sound(R"({"model_type": ")" + type + R"(", "layer_types": )" + kinds + "}");
    return std::array<std::int64_t, 3>{model.window, model.window_every, model.full_every};
  };
  using Is = std::array<std::int64_t, 3>;
  const std::string full = R"("full_attention")", sliding = R"("sliding_attention")";
  EXPECT_EQ(read("gpt_oss", '[' + full + ", " + full + ']'), (Is{0, 1, 0}));
  EXPECT_EQ(read("gpt_oss", '[' + sliding + ", " + sliding + ']'), (Is{128, 1, 0}));
  EXPECT_EQ(read("gpt_oss", '[' + sliding + ", " + full + ']'), (Is{128, 2, 0}));
  EXPECT_EQ(read("gemma2", '[' + sliding + ", " + sliding + ", " + full + ']'), (Is{4096, 1, 3}));
  Faults faults;
  read_text(R"({"model_type": "gpt_oss", "layer_types": [)" + full + ", " + sliding + "]}", faults);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].what, "layer 1 breaks the pattern of those before it");
}

TEST(HuggingFace, AModelForImagesWithoutATextPartIsAFault) {
  Faults faults;
  read_text(R"({"model_type": "llama4", "vision_config": {"hidden_size": 1408}})", faults);
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults[0].field, "text_config");
}

TEST(HuggingFace, AFaultOfTheTextPartIsToldAtItsPlace) {
  Faults faults;
  read_text(R"({"model_type": "gemma3", "text_config": {"hidden_activation": "tanh"}})", faults);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].field, "text_config.hidden_activation");
}

TEST(HuggingFace, TheWindowOfLayersWithoutRotaryEmbeddingIsRefused) {
  Faults faults;
  read_text(R"({"model_type": "smollm3", "use_sliding_window": true, "sliding_window": 4096})", faults);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].field, "use_sliding_window");
}

TEST(HuggingFace, HeadsThatDoNotDivideTheHiddenSizeAreAFault) {
  Faults faults;
  read_text(R"({"model_type": "llama", "num_attention_heads": 31})", faults);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].field, "num_attention_heads");
  EXPECT_EQ(faults[0].what, "31 heads do not divide a hidden size of 4096");
}

TEST(HuggingFace, EveryFaultOfAFileIsTold) {
  Faults faults;
  read_text(R"({"model_type": "llama", "hidden_size": "wide", "num_hidden_layers": -1, "hidden_act": "relu2"})",
            faults);
  ASSERT_EQ(faults.size(), 3u);
}

}  // namespace
