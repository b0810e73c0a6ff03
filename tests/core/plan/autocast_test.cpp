// tests/core/plan/autocast_test.cpp -- training under torch.autocast: what is cast, what is in fp32, what is kept.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/autocast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>

#include "core/plan/block.h"
#include "core/plan/step_ends.h"
#include "core/plan/tensor_parallel.h"
#include "core/spec/parameters.h"
#include "tests/core/plan/walk.h"

namespace {

using Kind = spec::Recompute::Kind;

/// The toy's GPT in plain PyTorch: a norm is one kernel, sums of weight gradients are kernels of their own.
template <class Change>
spec::Job eager(bool autocast, Change change) {
  return toy::job({}, [&](spec::Job& j) {
    j.model.norm = spec::Norm::layernorm;
    j.model.gated_mlp = false;
    j.training.autocast = autocast;
    j.training.gradient_dtype = spec::Dtype::fp32;
    j.framework.keeps_casts = false;
    j.strategy.fused_kernels.grad_accumulation = false;
    change(j);
  });
}
spec::Job eager(bool autocast) {
  return eager(autocast, [](spec::Job&) {});
}

struct Moved {
  std::int64_t read = 0, written = 0;
  int launches = 0;
};

/// What the memory-bound operators of one block move, by name.
std::map<std::string, Moved> of_a_block(const spec::Job& job, bool backward, Kind kind = Kind::none) {
  const plan::Context c(job);
  walk::Pen pen;
  plan::Block block(c, pen.out);
  backward ? block.backward(kind, false) : block.forward(kind, false);
  std::map<std::string, Moved> out;
  for (const plan::Operator& op : pen.out.finish().operators) {
    const auto* work = std::get_if<plan::MemoryBound>(&pen.work(op));
    if (!work) continue;
    Moved& sum = out[pen.name(op)];
    sum.read += work->read;
    sum.written += work->written;
    sum.launches += op.launches;
  }
  return out;
}

// 128 tokens of 256 numbers; feed-forward of 1,024.
constexpr std::int64_t kStream = 128 * 256;

TEST(Autocast, CastsEachWeightInEachPassAndWhatLinearLayersRead) {
  const auto forward = of_a_block(eager(true), false);
  // From fp32 to 16 bits: 4 bytes read, 2 written.
  EXPECT_EQ(forward.at("feed-forward up weight cast").read, 4 * 256 * 1024);
  EXPECT_EQ(forward.at("feed-forward up weight cast").written, 2 * 256 * 1024);
  EXPECT_EQ(forward.at("feed-forward down weight cast").read, 4 * 256 * 1024);
  EXPECT_EQ(forward.at("qkv input cast").read, 4 * kStream);
  EXPECT_EQ(forward.at("qkv input cast").written, 2 * kStream);
  EXPECT_EQ(forward.count("feed-forward down input cast"), 0U);  // the activation is in 16 bits
  EXPECT_EQ(of_a_block(eager(false), false).count("qkv input cast"), 0U);
  // A recomputed block casts again.
  EXPECT_EQ(of_a_block(eager(true), true, Kind::full).at("qkv weight cast").read, forward.at("qkv weight cast").read);
  EXPECT_EQ(of_a_block(eager(true), true).count("qkv weight cast"), 0U);
}

TEST(Autocast, NormsAndResidualsAreInFp32) {
  const auto forward = of_a_block(eager(true), false), backward = of_a_block(eager(true), true);
  EXPECT_EQ(forward.at("attention norm").read, 4 * kStream);
  EXPECT_EQ(forward.at("attention norm").written, 4 * kStream);
  // Two of them: the stream in fp32 and the branch in 16 bits make a stream in fp32.
  EXPECT_EQ(forward.at("residual add").read, 2 * (4 + 2) * kStream);
  EXPECT_EQ(forward.at("residual add").written, 2 * 4 * kStream);
  // Both gradients in fp32 make one; the branch's is cast to 16 bits.
  EXPECT_EQ(backward.at("residual gradient").read, 2 * (4 + 4 + 4) * kStream);
  EXPECT_EQ(backward.at("residual gradient").written, 2 * (4 + 2) * kStream);
  EXPECT_EQ(backward.at("qkv input gradient cast").read, 2 * kStream);
  EXPECT_EQ(backward.at("qkv input gradient cast").written, 4 * kStream);
}

TEST(Autocast, ACompilerJoinsCastsOfActivationsWithTheirNeighbours) {
  const auto compiled = [](spec::Job& j) { j.strategy.compile = true; };
  const auto forward = of_a_block(eager(true, compiled), false), backward = of_a_block(eager(true, compiled), true);
  EXPECT_EQ(forward.count("qkv input cast"), 0U);
  EXPECT_EQ(forward.at("attention norm").read, 4 * kStream);
  EXPECT_EQ(forward.at("attention norm").written, 2 * kStream);
  EXPECT_EQ(backward.count("qkv input gradient cast"), 0U);
  EXPECT_GT(forward.at("qkv weight cast").launches, 0);
}

TEST(Autocast, LinearsApartCastTheirInputEach) {
  const auto apart = [](spec::Job& j) { j.framework.separate_linears = true; };
  const spec::Job together = eager(true), separate = eager(true, apart);
  EXPECT_EQ(of_a_block(separate, false).at("qkv input cast").read, 3 * 4 * kStream);
  EXPECT_EQ(of_a_block(separate, true).at("qkv input gradient cast").written, 3 * 4 * kStream);
  const auto inputs = [](const spec::Job& j) {
    return plan::kept_activations(plan::Context(j), Kind::none).linear_inputs;
  };
  EXPECT_EQ(inputs(together), 2 * 2 * kStream);        // of qkv and of the feed-forward, in 16 bits
  EXPECT_EQ(inputs(separate), (3 + 1) * 2 * kStream);  // of q, k and v each
}

TEST(Autocast, GradientsOfWeightsAreCastAndThenAddedButForTheFirst) {
  const auto sums = [](int microbatches) {
    const spec::Job job = eager(true, [&](spec::Job& j) { j.training.global_batch = microbatches; });
    const plan::Context c(job);
    EXPECT_EQ(c.microbatches, microbatches);
    return plan::accumulate_gradient(c, 1000);
  };
  // One: 2 bytes read, 4 written. Of four, three read the sum and the cast gradient and write the sum: 3/4 of 8 and 4.
  EXPECT_EQ(sums(1).work.read, 2 * 1000);
  EXPECT_EQ(sums(1).work.written, 4 * 1000);
  EXPECT_EQ(sums(4).work.read, (2 + 6) * 1000);
  EXPECT_EQ(sums(4).work.written, (4 + 3) * 1000);
}

TEST(Autocast, HoldsGradientsInFp32Alone) {
  const auto gradients = [](bool autocast) {
    const plan::Plan p = plan::build(eager(autocast));
    return p.roles[0].resident[static_cast<int>(plan::Category::gradients)];
  };
  // Otherwise 2 bytes beside the 4 of the sum: 3/2.
  EXPECT_EQ(gradients(false) * 2, gradients(true) * 3);
}

TEST(Autocast, KeepsNormsInputsInFp32AndAWholeBlocksWhereItIsRecomputed) {
  const auto norms = [](const spec::Job& j, Kind kind) {
    return plan::kept_activations(plan::Context(j), kind).norm_inputs;
  };
  EXPECT_EQ(norms(eager(true), Kind::none), 2 * 4 * kStream);
  EXPECT_EQ(norms(eager(false), Kind::none), 2 * 2 * kStream);
  EXPECT_EQ(norms(eager(true), Kind::full), 4 * kStream);
  const auto by_the_operation = [](spec::Job& j) {
    j.model.norm = spec::Norm::rmsnorm;
    j.strategy.fused_kernels.norm = false;
  };
  EXPECT_EQ(norms(eager(true, by_the_operation), Kind::none), 2 * 8 * kStream);  // and the normed tensor, in fp32
}

/// Four replicas, so that zero 1 has what to share.
spec::Job replicas(int zero, std::int64_t microbatches, Kind kind = Kind::none) {
  return toy::job({.dp = 4, .zero = zero, .microbatches = microbatches, .recompute = {.kind = kind}}, [](spec::Job& j) {
    j.training.autocast = true;
    j.training.gradient_dtype = spec::Dtype::fp32;
    j.framework.keeps_casts = false;
    j.strategy.fused_kernels.grad_accumulation = false;
  });
}

std::int64_t resident(const plan::Plan& p, plan::Category category) {
  return p.roles[0].resident[static_cast<int>(category)];
}

TEST(Autocast, EveryRankHoldsFp32WeightsOfWhichMomentsAloneAreShared) {
  // zero 0: 4 P of weights, which are the masters, 4 P of gradients, 8 P of moments; zero 1: 8 P/4 of moments.
  for (const int zero : {0, 1}) {
    const spec::Job j = replicas(zero, 1);
    const plan::Plan p = plan::build(j);
    const std::int64_t all = walk::parameters(j, p.roles[0]), owned = zero == 0 ? all : (all + 3) / 4;
    EXPECT_EQ(resident(p, plan::Category::parameters), 4 * all);
    EXPECT_EQ(resident(p, plan::Category::gradients), 4 * all);
    EXPECT_EQ(resident(p, plan::Category::optimizer), 8 * owned);
  }
}

TEST(Autocast, ZeroOneGathersParametersInFp32) {
  const spec::Job j = replicas(1, 1);
  const plan::Plan p = plan::build(j);
  const std::int64_t padded = (walk::parameters(j, p.roles[0]) + 3) / 4 * 4;
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "parameter all-gather"), 4 * padded);
}

TEST(Autocast, AnUpdateWritesNoSixteenBitWeight) {
  // A gradient, two moments and the weight of 4 bytes read; moments and weight written.
  walk::Pen pen;
  const spec::Job j = replicas(0, 1);
  plan::update_parameters(plan::Context(j), pen.out, 1000);
  const auto work = std::get<plan::MemoryBound>(pen.work(pen.out.finish().operators.front()));
  EXPECT_EQ(work.read, 16'000);
  EXPECT_EQ(work.written, 12'000);
}

TEST(Autocast, MuonsMastersAreTheWeights) {
  const auto states = [](bool autocast) {
    spec::Job j = replicas(0, 1);
    j.training.optimizer = spec::Optimizer::muon;
    j.training.autocast = autocast;
    return resident(plan::build(j), plan::Category::optimizer);
  };
  const spec::Job j = replicas(0, 1);
  EXPECT_EQ(states(false) - states(true), 4 * spec::parameters(j.model).total());
}

TEST(Autocast, AHostThatUpdatesHasMastersOfItsOwnAndSendsThemBackInFp32) {
  spec::Job j = replicas(1, 1);
  j.strategy.offload.optimizer = spec::Offload::To::cpu;
  const plan::Plan p = plan::build(j);
  const std::int64_t all = walk::parameters(j, p.roles[0]), share = (all + 3) / 4;
  std::int64_t back = 0;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const auto* copy = std::get_if<plan::RatedCopy>(&p.works[op.work]);
    if (copy && p.names[op.name] == "updated parameters to device") back += copy->bytes;
  });
  EXPECT_EQ(back, 4 * share);
  EXPECT_EQ(resident(p, plan::Category::parameters), 4 * all);
  EXPECT_EQ(p.roles[0].host_bytes, (12 + 4) * share);
}

/// The most bytes of casts that are there in each phase of a step.
std::map<plan::Phase, std::int64_t> casts(const spec::Job& j) {
  const plan::Plan p = plan::build(j);
  std::map<plan::Phase, std::int64_t> most;
  std::int64_t level = 0;
  for (const plan::Call& call : p.roles[0].calls) {
    const plan::Segment& segment = p.segments[call.segment];
    auto change = segment.memory.begin();
    const auto apply = [&](std::int32_t at, bool after) {
      for (; change != segment.memory.end() && change->at == at && change->after == after; ++change) {
        if (change->category == plan::Category::parameters) level += change->bytes;
      }
    };
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(segment.operators.size()); ++i) {
      apply(i, false);
      std::int64_t& phase = most[segment.operators[static_cast<std::size_t>(i)].phase];
      phase = std::max(phase, level);
      apply(i, true);
    }
    EXPECT_EQ(change, segment.memory.end());
  }
  EXPECT_EQ(level, 0);
  return most;
}

// 2 bytes of each weight and bias of a linear: qkv and projection 4 h h + 4 h, feed-forward 8 h h + 5 h, h = 256. The
// head's table of 2,048 rows; neither norms nor what embeds.
constexpr std::int64_t kBlockCasts = 2 * (12 * 256 * 256 + 9 * 256), kFeedForwardCasts = 2 * (8 * 256 * 256 + 5 * 256),
                       kHeadCast = 2 * 2048 * 256;

TEST(Autocast, CastsAreKeptForTheBackwardAndGoneBesideTheOptimizer) {
  for (const std::int64_t microbatches : {1, 3}) {
    auto most = casts(replicas(0, microbatches));
    EXPECT_EQ(most[plan::Phase::forward], 4 * kBlockCasts + kHeadCast);
    EXPECT_EQ(most[plan::Phase::backward], 4 * kBlockCasts + kHeadCast);
    EXPECT_EQ(most[plan::Phase::optimizer], 0);
  }
  spec::Job without = replicas(0, 1);
  without.training.autocast = false;
  EXPECT_EQ(casts(without)[plan::Phase::forward], 0);
}

TEST(Autocast, CastsOfARecomputedBlockStayInTheCacheUntilTheForwardEnds) {
  // Behind it, the head's for its own backward and then those of one block at a time.
  auto most = casts(replicas(1, 2, Kind::full));
  EXPECT_EQ(most[plan::Phase::forward], 4 * kBlockCasts + kHeadCast);
  EXPECT_EQ(most[plan::Phase::recompute], kBlockCasts);
  EXPECT_EQ(most[plan::Phase::backward], std::max(kBlockCasts, kHeadCast));
  EXPECT_EQ(most[plan::Phase::optimizer], 0);
  // A feed-forward that is made again alone: the other casts stay.
  spec::Job modules = replicas(1, 1, Kind::selective);
  modules.strategy.recompute.modules = {.core_attn = false, .mlp = true};
  most = casts(modules);
  EXPECT_EQ(most[plan::Phase::forward], 4 * kBlockCasts + kHeadCast);
  EXPECT_EQ(most[plan::Phase::recompute], 4 * (kBlockCasts - kFeedForwardCasts) + kFeedForwardCasts);
}

TEST(Autocast, ALossByChunksReadsTheHeadsCastInTheForwardAlone) {
  spec::Job j = replicas(0, 1);
  j.strategy.linear_cross_entropy = true;
  const plan::Context c(j);
  EXPECT_EQ(plan::unkept_head_casts(c), kHeadCast);
  EXPECT_EQ(casts(j)[plan::Phase::optimizer], 0);
}

}  // namespace
