// tests/core/config/huggingface_families_test.cpp -- each architecture's file is read as the model that it was
// published as. SPDX-License-Identifier: Apache-2.0
#include "core/config/huggingface_families.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/config/huggingface.h"
#include "core/config/model_reader.h"
#include "core/spec/parameters.h"

namespace {

using config::Faults;
using spec::Model;

Model read_text(const std::string& json, Faults& faults) {
  return config::read_huggingface(config::parse(json, "config.json"), "config", faults);
}
Model read_sound(const std::string& json) {
  Faults faults;
  Model model = read_text(json, faults);
  for (const base::Fault& fault : faults) ADD_FAILURE() << base::to_string(fault) << "\n" << json;
  return model;
}
/// The fields that are faults, in order.
std::vector<std::string> refused(const std::string& json) {
  Faults faults;
  read_text(json, faults);
  std::vector<std::string> fields;
  for (const base::Fault& fault : faults) fields.push_back(fault.field);
  return fields;
}
using Fields = std::vector<std::string>;

Model entry(const std::string& name) {
  Faults faults;
  const std::string file = std::string(FORERUN_SOURCE_DIR) + "/workloads/models/" + name + ".yaml";
  return config::read_model(config::load(file), "", faults);
}
std::int64_t count(const Model& model) { return spec::parameters(model).total(); }

// Embedding and head, vocabulary times width, stand beside the layers: once where they are tied; and one norm more.
TEST(HuggingFaceFamilies, FilesAreOfTheSizeThatTheirModelsWerePublishedWith) {
  const std::vector<std::pair<const char*, std::int64_t>> published{
      // Qwen1.5-MoE-A2.7B, as Qwen2MoeConfig() is. A layer: attention 4 x 2048^2 and 3 x 2048 of bias, router 61 x 2048
      // with the
      // gate, 60 experts of 3 x 2048 x 1408, one of 3 x 2048 x 5632, norms 2 x 2048.
      {R"({"model_type": "qwen2_moe"})", 14'315'784'192},
      // GLM-4 9B. A layer: attention 4096 x 4608 + 4096^2 and 4608 of bias, feed-forward 3 x 4096 x 13696, norms 2 x
      // 4096.
      {R"({"model_type": "glm"})", 9'399'951'360},
      // The same under ChatGLM's keys.
      {R"({"model_type": "chatglm", "num_layers": 40, "padded_vocab_size": 151552, "hidden_size": 4096,
      "ffn_hidden_size": 13696, "kv_channels": 128, "num_attention_heads": 32, "seq_length": 131072, "rmsnorm": true,
      "multi_query_attention": true, "multi_query_group_num": 2, "add_qkv_bias": true, "add_bias_linear": false,
      "post_layer_norm": true})",
       9'399'951'360},
      // GLM-4-9B-0414: two norms more in each of 40 layers.
      {R"({"model_type": "glm4"})", 9'400'279'040},
      // ERNIE 4.5 0.3B. A layer: attention 2 x 1024 x 2048 + 2 x 1024 x 256, feed-forward 3 x 1024 x 3072, norms 2 x
      // 1024.
      {R"({"model_type": "ernie4_5"})", 360'748'032},
      // ERNIE 4.5 21B-A3B. A layer of 27: attention 2 x 2560^2 + 2 x 2560 x 512, router 64 x 2561, 66 experts of 3 x
      // 2560 x 1536,
      // norms 2 x 2560; the first has 3 x 2560 x 12288.
      {R"({"model_type": "ernie4_5_moe", "moe_layer_end_index": null})", 21'825'437'888},
      // dots.llm1. A layer of 61: attention 4 x 4096^2, norms of 2 x 4096 and 2 x 128, router 128 x 4097, 130 experts
      // of
      // 3 x 4096 x 1408; the first has 3 x 4096 x 10944.
      {R"({"model_type": "dots1", "first_k_dense_replace": 1, "hidden_size": 4096, "intermediate_size": 10944,
      "moe_intermediate_size": 1408, "n_routed_experts": 128, "n_shared_experts": 2, "num_attention_heads": 32,
      "num_experts_per_tok": 6, "num_hidden_layers": 62, "num_key_value_heads": 32, "sliding_window": null,
      "vocab_size": 152064, "topk_method": "noaux_tc"})",
       142'774'381'696},
      // Hunyuan 7B. A layer: attention 2 x 4096^2 + 2 x 4096 x 1024, feed-forward 3 x 4096 x 14336, norms 2 x 4096 and
      // 2 x 128.
      {R"({"model_type": "hunyuan_v1_dense", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128167,
      "tie_word_embeddings": true, "use_qk_norm": true, "use_cla": false})",
       7'504'568'320},
      // EXAONE 4.0 1.2B. A layer: attention 2 x 2048^2 + 2 x 2048 x 512, feed-forward 3 x 2048 x 4096, norms 2 x 2048
      // and 2 x 64.
      {R"({"model_type": "exaone4", "hidden_size": 2048, "intermediate_size": 4096, "num_hidden_layers": 30,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 102400,
      "tie_word_embeddings": true, "sliding_window": null, "sliding_window_pattern": null})",
       1'279'391'488},
      // K-EXAONE. A layer of 47: attention 6144 x 10240 + 8192 x 6144, norms 2 x 6144 and 2 x 128, router 128 x 6145,
      // 129 experts
      // of 3 x 6144 x 2048; the first has 3 x 6144 x 18432.
      {R"({"model_type": "exaone_moe", "hidden_size": 6144, "intermediate_size": 18432, "num_hidden_layers": 48,
      "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 153600, "num_experts": 128,
      "num_experts_per_tok": 8, "num_shared_experts": 1, "moe_intermediate_size": 2048, "first_k_dense_replace": 1,
      "sliding_window": 128, "num_nextn_predict_layers": 1})",
       236'571'156'352},
      // Ling-lite 1.5. A layer: attention 2048 x 3072 + 2048^2, router 64 x 2048, 66 experts of 3 x 2048 x 1408, norms
      // 2 x 2048.
      {R"({"model_type": "bailing_moe", "architectures": ["BailingMoeForCausalLM"], "first_k_dense_replace": 0,
      "hidden_size": 2048, "intermediate_size": 1408, "moe_intermediate_size": 1408, "num_experts": 64,
      "num_shared_experts": 2, "num_attention_heads": 16, "num_experts_per_tok": 6, "num_hidden_layers": 28,
      "num_key_value_heads": 4, "use_bias": false, "use_qkv_bias": false, "vocab_size": 126464,
      "max_position_embeddings": 32768})",
       16'801'974'272},
      // StarCoder2 7B. A layer: attention 2 x 4608^2 + 2 x 4608 x 512, feed-forward 2 x 4608 x 18432, biases 5632 + 2 x
      // 4608 +
      // 18432, norms 4 x 4608.
      {R"({"model_type": "starcoder2", "hidden_size": 4608, "intermediate_size": 18432, "num_hidden_layers": 32,
      "num_attention_heads": 36, "num_key_value_heads": 4, "vocab_size": 49152, "sliding_window": 4096})",
       7'173'923'840},
      // StarCoder. A layer: attention 2 x 6144^2 + 2 x 6144 x 128, feed-forward 2 x 6144 x 24576, biases 6400 + 2 x
      // 6144 + 24576,
      // norms 4 x 6144; 8192 positions.
      {R"({"model_type": "gpt_bigcode", "n_embd": 6144, "n_inner": 24576, "n_layer": 40, "n_head": 48, "n_positions": 8192,
      "vocab_size": 49152, "multi_query": true, "activation_function": "gelu"})",
       15'517'456'384},
      // Command R. A layer: attention 4 x 8192^2, feed-forward 3 x 8192 x 22528, one norm of 8192.
      {R"({"model_type": "cohere"})", 34'980'831'232},
      // Command R+. A layer: attention 2 x 12288^2 + 2 x 12288 x 1024, feed-forward 3 x 12288 x 33792, one norm of
      // 12288, norms
      // of 96 x 128 and 8 x 128.
      {R"({"model_type": "cohere", "hidden_size": 12288, "intermediate_size": 33792, "num_hidden_layers": 64,
      "num_attention_heads": 96, "num_key_value_heads": 8, "use_qk_norm": true})",
       103'810'674'688},
      // Command R7B. A layer: attention 2 x 4096^2 + 2 x 4096 x 1024, feed-forward 3 x 4096 x 14336, one norm of 4096.
      {R"({"model_type": "cohere2", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8})",
       8'028'033'024},
      // InternLM2 7B. A layer: attention 2 x 4096^2 + 2 x 4096 x 1024, feed-forward 3 x 4096 x 14336, norms 2 x 4096.
      {R"({"model_type": "internlm2", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 92544, "bias": false})",
       7'737'708'544},
      // InternLM3 8B. A layer: attention 2 x 4096^2 + 2 x 4096 x 256, feed-forward 3 x 4096 x 10240, norms 2 x 4096.
      {R"({"model_type": "internlm3", "hidden_size": 4096, "intermediate_size": 10240, "num_hidden_layers": 48,
      "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 128512, "qkv_bias": false,
      "bias": false})",
       8'804'241'408},
      // Baichuan2 7B: LLaMA 7B with 125,696 rows. 13B, a layer: attention 4 x 5120^2, feed-forward 3 x 5120 x 13696,
      // norms
      // 2 x 5120.
      {R"({"model_type": "baichuan", "architectures": ["BaichuanForCausalLM"], "hidden_size": 4096,
      "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 125696,
      "max_position_embeddings": 4096})",
       7'505'973'248},
      {R"({"model_type": "baichuan", "architectures": ["BaichuanForCausalLM"], "hidden_size": 5120,
      "intermediate_size": 13696, "num_hidden_layers": 40, "num_attention_heads": 40, "vocab_size": 125696,
      "model_max_length": 4096})",
       13'896'668'160},
      // StableLM 2 1.6B. A layer: attention 4 x 2048^2 and 3 x 2048 of bias, feed-forward 3 x 2048 x 5632, norms 4 x
      // 2048.
      {R"({"model_type": "stablelm", "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24,
      "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 100352, "use_qkv_bias": true,
      "use_parallel_residual": false, "qk_layernorm": false})",
       1'644'515'328},
      // Phi-3.5-MoE. A layer: attention 2 x 4096^2 + 2 x 4096 x 1024 and 6144 + 4096 of bias, router 16 x 4096, 16
      // experts of
      // 3 x 4096 x 6400, norms 4 x 4096; the head has a bias.
      {R"({"model_type": "phimoe", "attention_bias": true, "lm_head_bias": true, "sliding_window": 131072})",
       41'873'153'344},
      // AFM 4.5B. A layer: attention 2 x 2560^2 + 2 x 2560 x 512, feed-forward 2 x 2560 x 18432, norms 2 x 2560.
      {R"({"model_type": "arcee", "hidden_size": 2560, "intermediate_size": 18432, "num_hidden_layers": 36,
      "num_attention_heads": 20, "num_key_value_heads": 4, "vocab_size": 128004})",
       4'619'184'640},
      // Helium 1 2B. A layer: attention 4 x 2560^2, feed-forward 3 x 2560 x 7040, norms 2 x 2560.
      {R"({"model_type": "helium"})", 2'172'643'840},
      // Ministral 8B. A layer: attention 2 x 4096^2 + 2 x 4096 x 1024, feed-forward 3 x 4096 x 12288, norms 2 x 4096.
      {R"({"model_type": "ministral", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
      "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 131072, "sliding_window": 32768})",
       8'019'808'256},
      // MiMo 7B, less its module: Qwen2's layers of attention 2 x 4096^2 + 2 x 4096 x 1024 and 6144 of bias,
      // feed-forward
      // 3 x 4096 x 11008, norms 2 x 4096.
      {R"({"model_type": "mimo", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 36,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151680,
      "num_nextn_predict_layers": 1})",
       7'622'619'136},
      // XVERSE 13B. A layer: attention 4 x 5120^2, feed-forward 3 x 5120 x 13824, norms 2 x 5120.
      {R"({"model_type": "xverse"})", 13'715'031'040},
      // Aquila 7B: LLaMA 7B with 100,008 rows.
      {R"({"model_type": "aquila"})", 7'295'537'152},
      // Yi 6B. A layer: attention 2 x 4096^2 + 2 x 4096 x 512, feed-forward 3 x 4096 x 11008, norms 2 x 4096.
      {R"({"model_type": "Yi", "num_key_value_heads": 4})", 6'061'035'520},
      // Granite 3.0 3B-A800M. A layer: attention 2 x 1536^2 + 2 x 1536 x 512, router 40 x 1536, 40 experts of 3 x 1536
      // x 512,
      // norms 2 x 1536.
      {R"({"model_type": "granitemoe", "hidden_size": 1536, "intermediate_size": 512, "num_hidden_layers": 32,
      "num_attention_heads": 24, "num_key_value_heads": 8, "num_local_experts": 40, "num_experts_per_tok": 8,
      "vocab_size": 49155, "tie_word_embeddings": true})",
       3'298'793'472},
      // The same with a shared one of 3 x 1536 x 1024 in each of 32 layers.
      {R"({"model_type": "granitemoeshared", "hidden_size": 1536, "intermediate_size": 512, "num_hidden_layers": 32,
      "num_attention_heads": 24, "num_key_value_heads": 8, "num_local_experts": 40, "num_experts_per_tok": 8,
      "vocab_size": 49155, "tie_word_embeddings": true, "shared_intermediate_size": 1024})",
       3'449'788'416},
      // Solar Open 100B. A layer: attention 4096 x 10240 + 8192 x 4096, router 128 x 4097, 129 experts of 3 x 4096 x
      // 1280, norms
      // 2 x 4096.
      {R"({"model_type": "solar_open"})", 102'651'799'552},
      // Mistral Small 4, text part. A layer: latent attention, router 128 x 4096, 129 experts of 3 x 4096 x 2048, norms
      // 2 x 4096.
      {R"({"model_type": "mistral4", "first_k_dense_replace": 0, "hidden_size": 4096, "intermediate_size": 12288,
      "kv_lora_rank": 256, "q_lora_rank": 1024, "qk_nope_head_dim": 64, "qk_rope_head_dim": 64, "v_head_dim": 128,
      "moe_intermediate_size": 2048, "n_routed_experts": 128, "n_shared_experts": 1, "num_attention_heads": 32,
      "num_experts_per_tok": 4, "num_hidden_layers": 36, "num_key_value_heads": 32, "vocab_size": 131072,
      "n_group": 1, "topk_group": 1})",
       118'972'826'624},
      // DeepSeek-MoE 16B. A layer of 27: attention 4 x 2048^2, router 64 x 2048, 66 experts of 3 x 2048 x 1408, norms
      // 2 x 2048; the first has 3 x 2048 x 10944.
      {R"({"model_type": "deepseek", "first_k_dense_replace": 1, "hidden_size": 2048, "intermediate_size": 10944,
      "moe_intermediate_size": 1408, "moe_layer_freq": 1, "n_routed_experts": 64, "n_shared_experts": 2,
      "num_attention_heads": 16, "num_experts_per_tok": 6, "num_hidden_layers": 28, "num_key_value_heads": 16,
      "vocab_size": 102400})",
       16'375'728'128},
      // Jais 2 8B. A layer: attention 4 x 3328^2 and 4 x 3328 of bias, feed-forward 2 x 3328 x 26624 and 26624 + 3328,
      // norms 4 x 3328.
      {R"({"model_type": "jais2"})", 8'090'401'280},
      // Trinity Mini. A layer of 30: attention 2048 x 9216 + 4096 x 2048, norms of 4 x 2048 and 2 x 128, router 128 x
      // 2049, 129
      // experts of 3 x 2048 x 1024; the first two have 3 x 2048 x 6144.
      {R"({"model_type": "afmoe", "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 1024,
      "num_hidden_layers": 32, "num_dense_layers": 2, "num_attention_heads": 32, "num_key_value_heads": 4,
      "num_experts": 128, "num_experts_per_tok": 8, "num_shared_experts": 1, "sliding_window": 2048})",
       26'123'974'400},
  };
  for (const auto& [json, parameters] : published) EXPECT_EQ(count(read_sound(json)), parameters) << json;
}

TEST(HuggingFaceFamilies, MiMosModuleIsWhatItsPublishedCountHasMore) {
  Model model = read_sound(R"({"model_type": "mimo", "hidden_size": 4096, "intermediate_size": 11008,
      "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
      "vocab_size": 151680, "num_nextn_predict_layers": 1})");
  model.mtp = 1;
  EXPECT_EQ(count(model), 7'833'409'536);
}

TEST(HuggingFaceFamilies, TheTextPartOfAModelForImagesIsThatOfItsKin) {
  // Qwen2.5-VL's first files have the text part's keys at their root.
  EXPECT_EQ(count(read_sound(R"({"model_type": "qwen2_5_vl", "hidden_size": 3584, "intermediate_size": 18944,
      "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064,
      "use_sliding_window": false, "max_window_layers": 28, "vision_config": {"hidden_size": 1280}})")),
            count(entry("qwen2.5-7b")));
  EXPECT_EQ(count(read_sound(R"({"model_type": "qwen2_vl", "text_config": {"hidden_size": 3584,
      "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4}})")),
            count(entry("qwen2.5-7b")));
  EXPECT_EQ(count(read_sound(R"({"model_type": "qwen3_vl", "tie_word_embeddings": true, "text_config": {
      "hidden_size": 2560, "intermediate_size": 9728, "num_hidden_layers": 36, "num_attention_heads": 32,
      "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936}})")),
            count(entry("qwen3-4b")));
  EXPECT_EQ(count(read_sound(R"({"model_type": "qwen3_vl_moe", "tie_word_embeddings": false, "text_config": {
      "head_dim": 128, "hidden_size": 4096, "intermediate_size": 12288, "moe_intermediate_size": 1536,
      "num_attention_heads": 64, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 94,
      "num_key_value_heads": 4, "vocab_size": 151936, "mlp_only_layers": [], "decoder_sparse_step": 1}})")),
            count(entry("qwen3-235b-a22b")));
  EXPECT_EQ(count(read_sound(R"({"model_type": "glm4v_moe", "text_config": {"attention_bias": true,
      "vocab_size": 151552, "head_dim": 128}})")),
            count(entry("glm-4.5-air")));
  EXPECT_EQ(count(read_sound(R"({"model_type": "kimi_k25", "text_config": {"num_hidden_layers": 61,
      "hidden_size": 7168, "num_attention_heads": 64, "num_key_value_heads": 64, "intermediate_size": 18432,
      "vocab_size": 163840, "n_routed_experts": 384, "n_shared_experts": 1, "num_experts_per_tok": 8,
      "moe_intermediate_size": 2048, "moe_layer_freq": 1, "first_k_dense_replace": 1, "kv_lora_rank": 512,
      "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_group": 1,
      "topk_group": 1}})")),
            count(entry("kimi-k2")));
}

TEST(HuggingFaceFamilies, Mistral3IsOfTheArchitectureThatItsTextPartNames) {
  // Mistral Small 3.1, without a name; Ministral 3 3B, a layer: attention 3072 x 6144 + 4096 x 3072, feed-forward
  // 3 x 3072 x 9216, norms 2 x 3072.
  EXPECT_EQ(count(read_sound(R"({"model_type": "mistral3", "text_config": {"head_dim": 128, "hidden_size": 5120,
      "intermediate_size": 32768, "num_attention_heads": 32, "num_hidden_layers": 40, "num_key_value_heads": 8,
      "sliding_window": null, "vocab_size": 131072}})")),
            count(entry("mistral-small-24b")));
  EXPECT_EQ(count(read_sound(R"({"model_type": "mistral3", "text_config": {"model_type": "ministral3",
      "hidden_size": 3072, "intermediate_size": 9216, "num_hidden_layers": 26, "tie_word_embeddings": true}})")),
            3'429'006'336);
  EXPECT_EQ(refused(R"({"model_type": "mistral3", "text_config": {"model_type": "t5"}})"), Fields{"text_config"});
}

TEST(HuggingFaceFamilies, WindowsAndRotaryEmbeddingAreInTheLayersThatTheLibraryHasThem) {
  const Model olmo = read_sound(R"({"model_type": "olmo3"})");
  EXPECT_EQ(olmo.window, 4096);
  EXPECT_EQ(olmo.full_every, 4);
  EXPECT_EQ(olmo.nope_every, 0);
  const Model exaone = read_sound(R"({"model_type": "exaone4"})");
  EXPECT_EQ(exaone.full_every, 4);
  EXPECT_EQ(exaone.nope_every, 4);
  const Model small = read_sound(R"({"model_type": "exaone4", "sliding_window": null})");
  EXPECT_EQ(small.window, 0);
  EXPECT_EQ(small.full_every, 0);
  EXPECT_EQ(small.nope_every, 0);
  const Model command = read_sound(R"({"model_type": "cohere2", "layer_types": ["sliding_attention", "full_attention",
      "sliding_attention", "full_attention"]})");
  EXPECT_EQ(command.full_every, 2);
  EXPECT_EQ(command.nope_every, 2);
  const Model ministral = read_sound(R"({"model_type": "ministral"})");
  EXPECT_EQ(ministral.window, 4096);
  EXPECT_EQ(ministral.full_every, 0);
}

TEST(HuggingFaceFamilies, LayersThatAllSeeEverythingHaveNoWindow) {
  const std::string all = R"("layer_types": ["full_attention", "full_attention"]})";
  const Model olmo = read_sound(R"({"model_type": "olmo3", )" + all);
  EXPECT_EQ(olmo.window, 0);
  EXPECT_EQ(olmo.full_every, 0);
  const Model command = read_sound(R"({"model_type": "cohere2", )" + all);
  EXPECT_EQ(command.window, 0);
  EXPECT_EQ(command.nope_every, 1);  // none has a rotary embedding
}

TEST(HuggingFaceFamilies, BaichuansPositionsAreToldByItsSize) {
  const auto position = [](const std::string& name, int hidden) {
    return read_sound(R"({"architectures": [")" + name + R"("], "hidden_size": )" + std::to_string(hidden) +
                      R"(, "num_hidden_layers": 2, "num_attention_heads": 32, "intermediate_size": 64,
                          "vocab_size": 100})")
        .position;
  };
  EXPECT_EQ(position("BaichuanForCausalLM", 4096), spec::Position::rope);
  EXPECT_EQ(position("BaichuanForCausalLM", 5120), spec::Position::alibi);
  EXPECT_EQ(position("BaiChuanForCausalLM", 4096), spec::Position::rope);
}

TEST(HuggingFaceFamilies, LingsSecondGenerationIsToldByItsClass) {
  const std::string figures = R"("num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
      "intermediate_size": 128, "vocab_size": 100, "num_experts": 16, "num_experts_per_tok": 4,
      "moe_intermediate_size": 32, "first_k_dense_replace": 1, "num_shared_experts": null})";
  const Model first = read_sound(R"({"model_type": "bailing_moe", )" + figures);
  EXPECT_TRUE(first.bias);
  EXPECT_FALSE(first.qk_norm || first.moe->router_bias);
  EXPECT_EQ(first.moe->groups, 1);
  for (const char* of : {R"({"model_type": "bailing_moe", "architectures": ["BailingMoeV2ForCausalLM"], )",
                         R"({"model_type": "bailing_moe_v2", )"}) {
    const Model second = read_sound(of + figures);
    EXPECT_FALSE(second.bias || second.has_qkv_bias() || second.has_proj_bias());
    EXPECT_TRUE(second.qk_norm && second.moe->router_bias);
    EXPECT_EQ(second.moe->groups, 8);
    EXPECT_EQ(second.moe->top_groups, 4);
    EXPECT_EQ(second.moe->shared_experts, 0);
  }
}

TEST(HuggingFaceFamilies, RotaryEmbeddingIsScaledAsYarnAndLongropeDo) {
  const auto scale = [](const std::string& key, const std::string& rope) {
    return read_sound(R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "vocab_size": 128, "max_position_embeddings": 131072, ")" +
                      key + "\": " + rope + "}")
        .rope_scale;
  };
  // 0.1 ln 16 + 1; the ratio of the same with mscale 2 and 1; sqrt(1 + ln 32 / ln 4096).
  EXPECT_DOUBLE_EQ(scale("rope_scaling", R"({"rope_type": "yarn", "factor": 16})"), 1 + 0.1 * std::log(16));
  EXPECT_DOUBLE_EQ(scale("rope_parameters", R"({"rope_type": "yarn", "factor": 16, "rope_theta": 10000.0})"),
                   1 + 0.1 * std::log(16));
  EXPECT_DOUBLE_EQ(scale("rope_scaling", R"({"type": "yarn", "factor": 16, "attention_factor": 1.25})"), 1.25);
  EXPECT_DOUBLE_EQ(scale("rope_scaling", R"({"type": "yarn", "factor": 16, "mscale": 2, "mscale_all_dim": 1})"),
                   (1 + 0.2 * std::log(16)) / (1 + 0.1 * std::log(16)));
  EXPECT_DOUBLE_EQ(scale("rope_scaling", R"({"type": "longrope", "original_max_position_embeddings": 4096})"),
                   std::sqrt(1 + std::log(32) / std::log(4096)));
  EXPECT_DOUBLE_EQ(scale("rope_scaling", R"({"type": "yarn", "factor": 16, "attention_factor": 0.8})"), 0.8);
  EXPECT_DOUBLE_EQ(scale("rope_scaling", R"({"type": "yarn", "factor": 16, "attention_factor": null})"),
                   1 + 0.1 * std::log(16));
  EXPECT_DOUBLE_EQ(scale("rope_scaling", R"({"rope_type": "llama3", "factor": 8})"), 1);
  EXPECT_DOUBLE_EQ(scale("rope_scaling", "null"), 1);
}

TEST(HuggingFaceFamilies, KindsOfFeedForwardsSayHowManyLayersAreDense) {
  const std::string figures = R"({"model_type": "glm4_moe_lite", "num_hidden_layers": 4, "hidden_size": 64,
      "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100, "n_routed_experts": 8,
      "num_experts_per_tok": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 1, "kv_lora_rank": 16,
      "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8)";
  EXPECT_EQ(read_sound(figures + "}").moe->first_dense, 1);
  EXPECT_EQ(read_sound(figures + R"(, "mlp_layer_types": ["dense", "dense", "sparse", "sparse"]})").moe->first_dense,
            2);
  EXPECT_EQ(refused(figures + R"(, "mlp_layer_types": ["dense", "sparse", "dense", "sparse"]})"),
            Fields{"mlp_layer_types"});
}

TEST(HuggingFaceFamilies, WhatTheModelsKeysCannotSayIsRefused) {
  // StableLM 2 12B's norms of queries and keys have no shift, and its other norms have one.
  EXPECT_EQ(refused(R"({"model_type": "stablelm", "qk_layernorm": true})"), Fields{"qk_layernorm"});
  EXPECT_EQ(refused(R"({"model_type": "qwen2_moe", "use_sliding_window": true})"), Fields{"use_sliding_window"});
  EXPECT_EQ(refused(R"({"model_type": "ernie4_5_moe", "moe_layer_end_index": 26})"), Fields{"moe_layer_end_index"});
  EXPECT_EQ(refused(R"({"model_type": "hunyuan_v1_dense", "use_cla": true})"), Fields{"use_cla"});
  EXPECT_EQ(refused(R"({"model_type": "hunyuan_v1_moe", "num_experts": [8, 16], "moe_topk": 2})"),
            Fields{"num_experts"});
  EXPECT_EQ(refused(R"({"model_type": "hunyuan_v1_moe", "num_experts": 8, "moe_topk": [2, 2],
                        "num_shared_expert": [2, 2], "moe_intermediate_size": 64})"),
            (Fields{"num_shared_expert", "moe_intermediate_size"}));
  EXPECT_EQ(refused(R"({"model_type": "xverse", "num_experts": 64})"), Fields{"num_experts"});
  EXPECT_EQ(refused(R"({"model_type": "internlm3", "bias": true})"), Fields{"bias"});
  EXPECT_EQ(refused(R"({"model_type": "chatglm", "hidden_size": 4096, "position_encoding_2d": true})"),
            Fields{"ffn_hidden_size"});
  EXPECT_EQ(refused(R"({"model_type": "chatglm", "ffn_hidden_size": 64, "rmsnorm": false})"), Fields{"rmsnorm"});
  EXPECT_EQ(refused(R"({"model_type": "afmoe", "sliding_window": null})"), Fields{"sliding_window"});
  EXPECT_EQ(refused(R"({"model_type": "dots1", "n_routed_experts": 8, "num_experts_per_tok": 2,
                        "max_window_layers": 61})"),
            Fields{"max_window_layers"});
  EXPECT_EQ(refused(R"({"model_type": "exaone4", "layer_types": ["sliding_attention", "full_attention",
                        "sliding_attention", "sliding_attention", "full_attention"]})"),
            Fields{"layer_types"});
}

}  // namespace
