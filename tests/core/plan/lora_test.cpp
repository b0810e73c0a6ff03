// tests/core/plan/lora_test.cpp -- adapters are all that is trained: parameters, gradients, states, work.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/lora.h"

#include <gtest/gtest.h>

#include "core/plan/flops.h"
#include "core/plan/shares.h"
#include "core/plan/tensor_parallel.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Context;
using spec::LoraBase;

spec::Job job(const toy::Cut& cut, spec::Lora lora) {
  return toy::job(cut, [&](spec::Job& j) { j.strategy.lora = lora; });
}
const spec::Lora attention{.rank = 8, .qkv = true, .proj = true};
const spec::Lora all{.rank = 8, .qkv = true, .proj = true, .ffn = true};

// h = 256, qkv 768 wide, output 256: A and B of qkv 256 x 8 + 8 x 768, of the output 256 x 8 + 8 x 256.
constexpr std::int64_t kAttention = 256 * 8 + 8 * 768 + 256 * 8 + 8 * 256;
constexpr std::int64_t kFeedForward = 256 * 8 + 8 * 1024 + 1024 * 8 + 8 * 256;

TEST(Lora, AdaptersAreTheTrainedParameters) {
  EXPECT_EQ(plan::layer_parameters(Context(job({}, attention)), 0).total(), kAttention);
  EXPECT_EQ(plan::layer_parameters(Context(job({}, all)), 0).total(), kAttention + kFeedForward);
  EXPECT_EQ(plan::embedding_parameters(Context(job({}, all))), 0);
  EXPECT_EQ(plan::head_parameters(Context(job({}, all))), 0);
}

TEST(Lora, ModulesOfTheirOwnHaveAnAdapterEach) {
  // As peft.LoraConfig counts (Llama 2 7B, r 8, all linear layers: 19,988,480): A of 256 x 8 for each of q, k, v.
  const auto apart = [](spec::Job& j) {
    j.strategy.lora = attention;
    j.framework.separate_linears = true;
  };
  EXPECT_EQ(plan::layer_parameters(Context(toy::job({}, apart)), 0).total(), kAttention + 2 * 256 * 8);
  const plan::Plan p = plan::build(toy::job({}, apart));
  EXPECT_EQ(walk::count(p, p.roles[0], "adapter A weight gradient"), 4 * 4);  // layers; q, k, v and the output
}

/// Bytes that an operator of the first layer's qkv moves.
std::int64_t moved(const plan::Plan& p, const char* name) {
  std::int64_t bytes = 0;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    if (p.names[op.name] != std::string("qkv adapter ") + name || bytes > 0) return;
    const auto& work = std::get<plan::MemoryBound>(p.works[static_cast<std::size_t>(op.work)]);
    bytes = work.read + work.written;
  });
  return bytes;
}

TEST(Lora, OutputsAreScaledInAKernelOfTheirOwnUnlessACompilerJoinsIt) {
  // 128 tokens, 768 outputs of 2 bytes, read and written.
  spec::Lora lora = attention;
  const plan::Plan p = plan::build(job({}, lora));
  EXPECT_EQ(moved(p, "scale"), 2 * 128 * 768 * 2);
  EXPECT_EQ(moved(p, "gradient scale"), 2 * 128 * 768 * 2);
  const plan::Plan compiled = plan::build(toy::job({}, [&](spec::Job& j) {
    j.strategy.lora = lora;
    j.strategy.compile = true;
  }));
  EXPECT_EQ(moved(compiled, "scale"), 0);
}

TEST(Lora, InputsOfAdaptersInFp32AreCastAndDroppedThere) {
  // 128 tokens of 256: 2 bytes to 4 and back is 12 each; A and B of 8 x (256 + 768) are read as fp32 and written.
  // Dropout reads and writes 4 bytes and a mask of one, or 2, 2 and one where adapters are in 16 bits.
  const auto built = [](bool wide, double dropout) {
    return plan::build(toy::job({}, [=](spec::Job& j) {
      j.strategy.lora = attention;
      j.strategy.lora->dropout = dropout;
      j.framework.wide_adapters = wide;
      j.model.window = 64;  // of 2024
    }));
  };
  const plan::Plan wide = built(true, 0.1), narrow = built(false, 0.1);
  EXPECT_EQ(moved(wide, "input cast"), 128 * 256 * 12 + 8 * (256 + 768) * 6);
  EXPECT_EQ(moved(wide, "input gradient cast"), 128 * 256 * 12 + 8 * (256 + 768) * 6);
  EXPECT_EQ(moved(narrow, "input cast"), 0);
  EXPECT_EQ(moved(wide, "input dropout"), 128 * 256 * 9);
  EXPECT_EQ(moved(narrow, "input dropout"), 128 * 256 * 5);
  EXPECT_EQ(moved(built(false, 0), "input dropout"), 0);
}

TEST(Lora, HooksOnFrozenUnitsHoldWhatLayersReadAndItsGradientUntilTheBackwardEnds) {
  // 4 layers of 128 tokens of 256, 2 bytes a number: the input stays, its gradient is taken.
  constexpr std::int64_t kHeld = 4 * 128 * 256 * 2;
  const auto taken = [](bool holds, auto with) {
    const plan::Plan p = plan::build(toy::job({.dp = 2, .zero = 3}, [&](spec::Job& j) {
      j.strategy.lora = attention;
      j.strategy.recompute.kind = spec::Recompute::Kind::full;
      j.framework.stops_recompute = false;
      j.framework.holds_frozen_inputs = holds;
      with(j);
    }));
    std::int64_t level = 0, all = 0;
    for (const plan::Call& call : p.roles[0].calls) {
      for (const plan::MemoryChange& change : p.segments[call.segment].memory) {
        if (change.category != plan::Category::activations) continue;
        level += change.bytes;
        all += std::max<std::int64_t>(change.bytes, 0);
        EXPECT_LT(change.at, static_cast<std::int32_t>(p.segments[call.segment].operators.size()));
      }
    }
    EXPECT_EQ(level, 0);
    return all;
  };
  const auto as_is = [](spec::Job&) {};
  EXPECT_EQ(taken(true, as_is) - taken(false, as_is), kHeld);
  const auto ahead = [](spec::Job& j) { j.model.mtp = 1; };  // a fifth block
  EXPECT_EQ(taken(true, ahead) - taken(false, ahead), kHeld / 4 * 5);
  const auto no_reentry = [](spec::Job& j) { j.framework.stops_recompute = true; };
  EXPECT_EQ(taken(true, no_reentry), taken(false, no_reentry));
  const auto trained = [](spec::Job& j) { j.strategy.lora.reset(); };
  EXPECT_EQ(taken(true, trained), taken(false, trained));
}

TEST(Lora, TensorParallelRanksShareTheAdapters) {
  // Every matrix is cut: 2 ranks hold a half each.
  EXPECT_EQ(plan::layer_parameters(Context(job({.tp = 2}, all)), 0).total(), (kAttention + kFeedForward) / 2);
}

TEST(Lora, OptimizerStateAndGradientsAreProportionalToTheAdapters) {
  for (const int rank : {1, 8, 64}) {
    spec::Lora lora = attention;
    lora.rank = rank;
    const plan::Plan p = plan::build(job({}, lora));
    const std::int64_t count = 4 * kAttention / 8 * rank;
    EXPECT_EQ(p.roles[0].resident[static_cast<int>(plan::Category::optimizer)], 12 * count);
    EXPECT_EQ(p.roles[0].resident[static_cast<int>(plan::Category::gradients)], 4 * count);
  }
}

TEST(Lora, TheBaseIsHeldInItsOwnFormat) {
  const auto held = [](const spec::Job& j) {
    return plan::build(j).roles[0].resident[static_cast<int>(plan::Category::parameters)];
  };
  spec::Lora narrow = attention;
  narrow.base = LoraBase::int8;
  EXPECT_EQ(held(job({}, attention)), held(toy::job()) + 2 * 4 * kAttention);
  // Layers lose a byte a parameter; a layer has 12 h^2 + 13 h of them.
  EXPECT_EQ(held(job({}, attention)) - held(job({}, narrow)), 4 * (12 * 256 * 256 + 13 * 256));
}

TEST(Lora, FrozenWeightsHaveNoGradients) {
  const plan::Plan p = plan::build(job({.tp = 2, .sp = true, .microbatches = 2}, attention));
  const plan::Role& role = p.roles[0];
  EXPECT_EQ(walk::count(p, role, "weight gradient"),
            walk::count(p, role, "adapter A weight gradient") + walk::count(p, role, "adapter B weight gradient"));
  EXPECT_EQ(walk::count(p, role, "adapter A weight gradient"), 2 * 4 * 2);  // microbatches, layers, adapters
  EXPECT_EQ(walk::count(p, role, "embedding gradient"), 0);
  EXPECT_EQ(walk::count(p, role, "qkv input gradient"), 2 * 4 * 2);  // flows on, each with its reduce-scatter
}

TEST(Lora, OnlyAdaptersAreReduced) {
  const plan::Plan p = plan::build(job({.dp = 2}, attention));
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "gradient all-reduce"), 4 * 4 * kAttention);
}

TEST(Lora, ANarrowBaseIsWrittenOutBeforeEachMatmul) {
  for (const LoraBase base : {LoraBase::bf16, LoraBase::int8, LoraBase::nf4}) {
    spec::Lora lora = attention;
    lora.base = base;
    const plan::Plan p = plan::build(job({.microbatches = 2}, lora));
    // Four linear layers of four layers, forward and input gradient, two microbatches.
    EXPECT_EQ(walk::count(p, p.roles[0], "base expanded"), base == LoraBase::bf16 ? 0 : 4 * 4 * 2 * 2);
  }
}

TEST(Lora, FrozenWorkIsTwoThirdsOfTraining) {
  // Linear layers and head twice instead of three times; attention three times in both.
  const spec::Job j = toy::job();
  const plan::ForwardFlops one = plan::forward_flops(j.model, 128);
  EXPECT_DOUBLE_EQ(plan::model_flops(j) - plan::model_flops(job({}, attention)), 4 * one.linear + one.head);
}

TEST(Lora, RanksBeyondTheModelAreAFault) {
  spec::Job j = toy::draft();
  j.strategy.lora = attention;
  j.strategy.lora->rank = 256;
  EXPECT_TRUE(spec::check(j).empty());
  j.strategy.lora->rank = 257;
  ASSERT_EQ(spec::check(j).size(), 1u);
  EXPECT_EQ(spec::check(j)[0].field, "strategy.lora");
}

}  // namespace
