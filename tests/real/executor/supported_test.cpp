// tests/real/executor/supported_test.cpp -- shapes of models that real mode computes, and those it refuses by name.
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/executor.h"
#include "tests/real/executor/tiny.h"

namespace {

using Fields = std::vector<std::string>;

template <class Change>
Fields refused(const spec::Model& model, Change change) {
  spec::Job draft = tiny::draft(model, {});  // sequences of 8 tokens
  change(draft);
  const spec::Job job = toy::resolved(draft);
  Fields fields;
  for (const base::Fault& fault : real::unsupported(job, plan::build(job))) fields.push_back(fault.field);
  return fields;
}

TEST(Supported, ChunksOfAttentionOfAnyLengthAndOverHeads) {
  const auto chunk = [](std::int64_t tokens, int cp) {
    return refused(tiny::llama(), [=](spec::Job& j) {
      j.model.attention_chunk = tokens;
      j.strategy.cp = cp;
      j.strategy.cp_kind = spec::CpKind::ulysses;
      j.cluster = toy::cluster(cp);
    });
  };
  EXPECT_EQ(chunk(4, 1), Fields{});
  EXPECT_EQ(chunk(3, 1), Fields{});
  EXPECT_EQ(chunk(3, 2), Fields{});
}

TEST(Supported, DocumentsOfEveryLengthInChunksAndOverRanks) {
  const auto packed = [](const spec::Packing& packing, auto change) {
    return refused(tiny::llama(), [&](spec::Job& j) {
      j.training.packing = packing;
      change(j);
    });
  };
  const auto context = [](spec::CpKind kind) {
    return [kind](spec::Job& j) {
      j.cluster = toy::cluster(2);
      j.strategy.cp = 2;
      j.strategy.cp_kind = kind;
    };
  };
  for (const spec::CpKind kind : {spec::CpKind::ring, spec::CpKind::all_gather, spec::CpKind::ulysses}) {
    EXPECT_EQ(packed({.lengths = {}, .mean = 4}, context(kind)), Fields{});
  }
  const auto graphs = [](spec::Job& j) {
    j.strategy.cuda_graphs = spec::CudaGraphs::whole;
  };  // every step has the same documents
  EXPECT_EQ(packed({.lengths = {}, .mean = 4, .deviation = 1}, graphs), Fields{});
  EXPECT_EQ(packed({.lengths = {4, 2}}, graphs), Fields{});
  EXPECT_EQ(packed({.lengths = {}, .mean = 6}, [](spec::Job& j) { j.model.attention_chunk = 4; }), Fields{});
}

/// The Plan's ring has the hops that a document of the mean length needs.
TEST(Supported, DocumentsGoRoundARingThatNoWindowEnds) {
  const auto ring = [](int cp, int window, spec::CpBalance balance) {
    return refused(tiny::llama(), [=](spec::Job& j) {
      j.training.sequence = 16;
      j.training.packing = {.lengths = {16, 4}};  // 13.6 tokens on average: 4 a rank of four
      j.model.window = window;
      j.strategy.cp = cp;
      j.strategy.cp_kind = spec::CpKind::ring;
      j.strategy.cp_balance = balance;
      j.cluster = toy::cluster(cp);
    });
  };
  // A token a rank of the short documents, so a window of 3 reaches two hops on, and one of the long ones'.
  EXPECT_EQ(ring(4, 3, spec::CpBalance::none), Fields{"training.packing"});
  EXPECT_EQ(ring(4, 10, spec::CpBalance::none), Fields{});
  EXPECT_EQ(ring(2, 3, spec::CpBalance::none), Fields{});
  EXPECT_EQ(ring(4, 3, spec::CpBalance::zigzag), Fields{"strategy.cp_kind"});
  EXPECT_EQ(ring(4, 6, spec::CpBalance::zigzag), Fields{});
}

TEST(Supported, WhatKernelsWouldComputeOtherwiseIsRefused) {
  // Windows are of tokens before, the Plan's without a causal mask of both sides.
  const auto window = [](bool causal) {
    return refused(tiny::llama(), [=](spec::Job& j) {
      j.model.window = 3;
      j.model.causal = causal;
    });
  };
  EXPECT_EQ(window(true), Fields{});
  EXPECT_EQ(window(false), Fields{"model.window"});
  EXPECT_EQ(refused(tiny::gpt(), [](spec::Job& j) { j.model.head_bias = true; }), Fields{"model.head_bias"});
}

TEST(Supported, NormsOfQueriesAndKeysScaleByTheNumbersOfAHead) {
  const auto scaled = [](spec::QkScale scale) {
    return refused(tiny::qk_norm(), [=](spec::Job& j) { j.model.qk_scale = scale; });
  };
  EXPECT_EQ(scaled(spec::QkScale::head), Fields{});
  EXPECT_EQ(scaled(spec::QkScale::width), Fields{"model.qk_norm"});
  EXPECT_EQ(scaled(spec::QkScale::none), Fields{"model.qk_norm"});
}

TEST(Supported, ARingWhoseStepsAWindowLeavesOutIsContiguousAndGoesHopByHop) {
  const auto ring = [](spec::CpBalance balance, bool at_once, int window) {
    return refused(tiny::llama(), [=](spec::Job& j) {
      j.model.window = window;
      j.strategy.cp = 4;
      j.strategy.cp_kind = spec::CpKind::ring;
      j.strategy.cp_balance = balance;
      j.framework.ring_gathers = at_once;
      j.cluster = toy::cluster(4);
    });
  };
  const Fields no = {"strategy.cp_kind"};
  EXPECT_EQ(ring(spec::CpBalance::none, true, 2), no);
  EXPECT_EQ(ring(spec::CpBalance::none, false, 2), Fields{});
  // Chunks of one token: the last rank has tokens 3 and 4, which see 2 to 4, and nothing of the first rank's 0 and 7,
  // while the first rank's 7 sees 6 of the second's: both meet three hops on.
  EXPECT_EQ(ring(spec::CpBalance::zigzag, false, 2), no);
  EXPECT_EQ(ring(spec::CpBalance::zigzag, true, 2), no);
  EXPECT_EQ(ring(spec::CpBalance::zigzag, true, 0), Fields{});
}

/// Of rank 6 beside 16 hidden numbers, or of rank 4 beside 18.
TEST(Supported, ExpertTensorParallelRanksShareAnAdapterEvenly) {
  const auto beside = [](int rank, int hidden, int etp, bool ffn) {
    return refused(tiny::moe(), [=](spec::Job& j) {
      j.model.hidden = hidden;
      j.strategy.lora = {.rank = rank, .qkv = true, .ffn = ffn};
      j.strategy.etp = etp;
      j.strategy.etp_given = true;
      j.strategy.dp = etp;
      j.cluster = toy::cluster(etp);
    });
  };
  const Fields no = {"strategy.lora"};
  EXPECT_EQ(beside(6, 16, 2, true), Fields{});
  EXPECT_EQ(beside(6, 16, 4, true), no);
  EXPECT_EQ(beside(6, 16, 4, false), Fields{});
  EXPECT_EQ(beside(4, 18, 4, true), no);
  EXPECT_EQ(beside(4, 16, 4, true), Fields{});
}

/// Zero 2 has sent them to the host when the other stage's are added.
TEST(Supported, GradientsThatBothEndsOfTheModelSumAreNotUpdatedOnTheHostUnderZero2) {
  const auto on_host = [](int modules, int pp, int zero) {
    return refused(tiny::ahead(tiny::llama(), modules), [=](spec::Job& j) {
      j.strategy.pp = pp;
      j.strategy.dp = 2;
      j.strategy.zero = zero;
      j.strategy.offload = {.optimizer = spec::Offload::To::cpu};
      j.strategy.offload_given = true;
      j.cluster = toy::cluster(2 * pp);
    });
  };
  EXPECT_EQ(on_host(1, 2, 2), Fields{"strategy.offload.optimizer"});
  EXPECT_EQ(on_host(1, 2, 1), Fields{});
  EXPECT_EQ(on_host(1, 1, 2), Fields{});
  EXPECT_EQ(on_host(0, 2, 2), Fields{});
}

TEST(Supported, OptimizersOfThePlanWithMomentsInFp32AndBf16) {
  const auto optimizer = [](spec::Optimizer one, spec::Dtype moments) {
    return refused(tiny::llama(), [=](spec::Job& j) {
      j.training.optimizer = one;
      j.training.moments_dtype = moments;
    });
  };
  using spec::Dtype;
  using spec::Optimizer;
  for (const Optimizer one : {Optimizer::adamw, Optimizer::sgd, Optimizer::adamw8bit}) {
    EXPECT_EQ(optimizer(one, Dtype::fp32), Fields{});
  }
  EXPECT_EQ(optimizer(Optimizer::adamw, Dtype::bf16), Fields{});
  EXPECT_EQ(optimizer(Optimizer::adamw, Dtype::fp16), Fields{"training.moments_dtype"});
  EXPECT_EQ(optimizer(Optimizer::sgd, Dtype::fp16), Fields{"training.moments_dtype"});
}

}  // namespace
