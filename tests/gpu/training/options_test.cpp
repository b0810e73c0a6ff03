// tests/gpu/training/options_test.cpp -- what one GPU is enough for, beside the CPU backend: models' parts, formats,
// optimizers, offloading. SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/training/near.h"

namespace {

using gpus::dropout;
using gpus::expect_near;
using gpus::fp8;
using gpus::kBf16;
using gpus::kFp8;
using gpus::kFp8Since;
using gpus::lora;
using gpus::offload;
using gpus::packed;
using tiny::both;
using tiny::Case;
using tiny::Change;
using tiny::unfused;
using To = spec::Offload::To;

constexpr gpus::Check kOnce{.twice = false};

Change zero(int stage) {
  return [=](spec::Job& j) { j.strategy.zero = stage; };
}

TEST(Options, OfModels) {
  const auto geglu = [](spec::Job& j) { j.model.activation = spec::Activation::geglu; };
  const auto clamped = [](spec::Job& j) { j.model.activation = spec::Activation::clamped_swiglu; };
  const auto chunks = [](std::int64_t tokens) -> Change {
    return [=](spec::Job& j) { j.model.attention_chunk = tokens; };
  };
  expect_near(tiny::llama(),
              {{"geglu", {}, geglu},
               {"clamped swiglu", {}, clamped},
               {"chunks", {}, chunks(5)},
               {"chunks of documents, scores written", {}, both(packed({5, 2, 9}), chunks(6), unfused())}},
              kOnce);
  expect_near(tiny::ahead(tiny::llama(), 2), {{"two tokens ahead", {}}}, kOnce);
  expect_near(tiny::router_bias(), {{"router with a bias", {}}}, kOnce);
  expect_near(tiny::parallel(2), {{"a norm for each half of the block", {}}}, kOnce);
  expect_near(tiny::latent(0), {{"wide queries", {}}}, kOnce);
}

TEST(Options, OfAttentionThatWritesItsScores) {
  const auto one_key_head = [](spec::Job& j) { j.model.kv_heads = 1; };
  const auto heads_of_20 = [](spec::Job& j) { j.model.head_dim = 20; };  // rows that do not begin at 16 bytes
  expect_near(tiny::llama(),
              {{"alone", {}, unfused()},
               {"one key head, two sequences", {}, both(unfused(), one_key_head, tiny::two_sequences)},
               {"heads of 20", {}, both(unfused(), heads_of_20)},
               {"dropout", {}, both(unfused(), dropout)}},
              kOnce);
  for (const spec::Model& model : {tiny::sinks(), tiny::alibi(), tiny::latent()}) {
    expect_near(model, {{"", {}, unfused()}}, kOnce);
  }
}

TEST(Options, OfRecomputation) {
  using Kind = spec::Recompute::Kind;
  for (const spec::Model& model : {tiny::llama(), tiny::moe()}) {
    expect_near(model,
                {{"full", {}, tiny::recompute(Kind::full)},
                 {"attention", {}, unfused(Kind::selective)},
                 {"operators", {}, tiny::recompute(Kind::selective_ops)}},
                kOnce);
  }
}

TEST(Options, OfOptimizers) {
  const auto optimizer = [](spec::Optimizer kind) -> Change {
    return [=](spec::Job& j) { j.training.optimizer = kind; };
  };
  const auto in_bf16 = [](spec::Job& j) { j.training.moments_dtype = spec::Dtype::bf16; };
  const Change sgd = optimizer(spec::Optimizer::sgd);
  expect_near(tiny::llama(),
              {{"sgd with moments in bf16", {}, both(sgd, in_bf16)},
               {"8-bit moments", {}, optimizer(spec::Optimizer::adamw8bit)}},
              kOnce);
  expect_near(tiny::llama(), {{"sgd on the host", {}, both(sgd, zero(1), offload({.optimizer = To::cpu}))}},
              {.gradients = false, .twice = false});
}

TEST(Options, OfOffloading) {
  expect_near(tiny::llama(),
              {{"activations", {}, offload({.activations = true})},
               {"parameters", {}, both(zero(3), offload({.optimizer = To::none, .parameters = To::cpu}))}},
              kOnce);
  const auto both_to = [](To to) { return both(zero(3), offload({.optimizer = to, .parameters = to}, 4000)); };
  expect_near(tiny::llama(),
              {{"optimizer", {}, both(zero(1), offload({.optimizer = To::cpu}))},
               {"all", {}, both_to(To::cpu)},
               {"on drives", {}, both_to(To::nvme)},
               {"optimizer, with adapters", {}, both(lora, zero(1), offload({.optimizer = To::cpu}))}},
              {.gradients = false, .twice = false});
}

TEST(Options, OfAdapters) {
  expect_near(tiny::moe(), {{"beside experts", {}, lora}}, kOnce);
  expect_near(tiny::latent(), {{"beside latent attention", {}, lora}}, kOnce);
}

TEST(Options, OfEightBits) {
  if (gpus::capability() < kFp8Since) GTEST_SKIP() << "this GPU has no fp8";
  using enum spec::Fp8Recipe;
  const auto weights = [](bool narrow) -> Change { return [=](spec::Job& j) { j.training.fp8_parameters = narrow; }; };
  gpus::expect_near_and_rounded_alike(tiny::llama(),
                                      {{"tensorwise, weights in 8 bits", {}, both(fp8(tensorwise), weights(true))},
                                       {"tensorwise, weights cast", {}, both(fp8(tensorwise), weights(false))},
                                       {"delayed, weights in 8 bits", {}, both(fp8(delayed), weights(true))},
                                       {"delayed, weights cast", {}, both(fp8(delayed), weights(false))}});
  const auto sixteen = [](spec::Job& j) {
    j.model.mla = {
        .q_lora_rank = 32, .kv_lora_rank = 32, .rope_head_dim = 16, .nope_head_dim = 16, .value_head_dim = 16};
  };
  const gpus::Check narrow{.close = kFp8, .gradients = false, .twice = false};
  expect_near(tiny::latent(), {{"latent attention", {}, both(sixteen, fp8(delayed))}}, narrow);
  expect_near(tiny::llama(), {{"adapters", {}, both(lora, fp8(tensorwise))}}, narrow);
  expect_near(tiny::moe(),
              {{"experts", {}, fp8(tensorwise)}, {"experts with adapters", {}, both(lora, fp8(tensorwise))}}, narrow);
  if (gpus::capability() != gpus::kScalesOfRows) return;
  gpus::expect_near_and_rounded_alike(tiny::llama(), {{"blockwise", {}, fp8(blockwise)}});
  expect_near(tiny::moe(), {{"experts, blockwise", {}, fp8(blockwise)}}, narrow);
}

}  // namespace
