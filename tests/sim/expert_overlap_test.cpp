// tests/sim/expert_overlap_test.cpp -- tokens that travel to the experts of one microbatch while another computes:
// through plan and engine with prices that can be added up on paper, then whole predictions at random.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "sim/memory/ledger.h"
#include "sim/predict.h"
#include "sim/pricing/flatten.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Category;

constexpr trace::Ticks kUnit = 1'000'000;
constexpr int kLayers = 2;  // of a chunk

struct Cut {
  int stages = 1, chunks = 1, microbatches = 1;
};

std::string told(const Cut& c) {
  return "stages " + std::to_string(c.stages) + ", chunks " + std::to_string(c.chunks) + ", microbatches " +
         std::to_string(c.microbatches);
}

spec::Job job(const Cut& cut, bool beside) {
  return toy::job({.pp = cut.stages, .vpp = cut.chunks, .dp = 2, .microbatches = cut.microbatches}, [&](spec::Job& j) {
    j.model.layers = kLayers * cut.stages * cut.chunks;
    j.model.moe = spec::Moe{.experts = 4, .top_k = 2, .ffn = 128};
    j.strategy.ep = 2;
    j.strategy.overlap.p2p = true;
    j.strategy.overlap.expert = beside;
  });
}

/// Attention, the experts and each exchange take one unit, forward and backward; everything else nothing.
std::vector<base::Seconds> unit_prices(const plan::Plan& p) {
  std::vector<base::Seconds> prices(p.works.size());
  for (const plan::Segment& segment : p.segments) {
    for (const plan::Operator& op : segment.operators) {
      const std::string& name = p.names[op.name];
      const bool kernel = std::holds_alternative<plan::Attention>(p.works[op.work]) || name == "expert up" ||
                          name == "expert down input gradient";
      if (kernel || op.stream == plan::Stream::ep) prices[op.work] = base::us(1);
    }
  }
  return prices;
}

trace::Ticks length(const Cut& cut, bool beside) {
  const spec::Job j = job(cut, beside);
  const plan::Plan p = plan::build(j);
  return sim::simulate(p, sim::flatten(p, unit_prices(p), j)).length;
}

std::int64_t activations(const Cut& cut, bool beside) {
  const spec::Job j = job(cut, beside);
  const plan::Plan p = plan::build(j);
  return sim::peak_of(p, p.roles[0]).bytes[static_cast<int>(Category::activations)];
}

TEST(ExpertOverlap, HidesEveryExchangeButThoseOfTheFirstForwardAndTheLastBackward) {
  // A layer's forward is attention, dispatch, experts, combine; its backward the same the other way: 4 units each. In a
  // pair the kernels of one fall on the exchanges of the other, so a pair takes 4 units a layer, not 8.
  for (const int m : {1, 2, 5}) {
    EXPECT_EQ(length({1, 1, m}, false), m * 8 * kLayers * kUnit);
    EXPECT_EQ(length({1, 1, m}, true), (m + 1) * 4 * kLayers * kUnit);
  }
}

TEST(ExpertOverlap, LeavesNoGapInTheSteadyStateOfAPipeline) {
  // Forward, backward and pair of a chunk all take a round of 4 units a layer. The first stage runs w = 2 (p - 1) +
  // (v - 1) p + 1 rounds of forwards, m v - w of pairs and w of backwards, one behind the other.
  for (const Cut& c : {Cut{2, 1, 8}, Cut{4, 1, 8}, Cut{4, 1, 13}, Cut{2, 2, 8}, Cut{4, 2, 8}, Cut{4, 3, 16}}) {
    const int ahead = 2 * (c.stages - 1) + (c.chunks - 1) * c.stages + 1;
    EXPECT_EQ(length(c, true), (c.microbatches * c.chunks + ahead) * 4 * kLayers * kUnit) << told(c);
    EXPECT_LT(length(c, true), length(c, false)) << told(c);
  }
}

TEST(ExpertOverlap, HoldsUpToOnePassMore) {
  // Without a pipeline one microbatch is held; beside its backward the next one grows, layer by layer.
  const std::int64_t one = activations({1, 1, 4}, false), two = activations({1, 1, 4}, true);
  EXPECT_GT(two, one);
  EXPECT_LE(two, 2 * one);
  // Two chunks on each of four stages: 11 chunks of the first stage, and then a twelfth.
  const std::int64_t plain = activations({4, 2, 8}, false), beside = activations({4, 2, 8}, true);
  EXPECT_GT(beside, plain);
  EXPECT_LE(11 * beside, 12 * plain);
  // One chunk: 1F1B holds p = 4 microbatches, pairs run 2 (p - 1) + 1 ahead and one beside.
  EXPECT_GT(activations({4, 1, 8}, true), 7 * activations({4, 1, 8}, false) / 4);
  EXPECT_LE(activations({4, 1, 8}, true), 8 * activations({4, 1, 8}, false) / 4);
}

/// A model of experts spread over GPUs, drawn at random; 16 ranks exchange over the network, fewer over NVLink.
spec::Job job_of_experts(walk::Dice& dice) {
  toy::Cut cut;
  cut.pp = dice.of({1, 1, 2, 4});
  cut.vpp = cut.pp > 1 && dice.coin() ? 2 : 1;
  cut.dp = dice.of({2, 4, 8, 16});
  cut.zero = dice.below(2);
  cut.microbatches = cut.vpp > 1 ? cut.pp * dice.from(1, 4) : dice.from(1, 12);
  cut.micro_batch = dice.of({1, 4});
  cut.recompute.kind = dice.coin() ? spec::Recompute::Kind::none : spec::Recompute::Kind::selective;
  return toy::job(cut, [&](spec::Job& j) {
    j.model.layers = cut.pp * cut.vpp * dice.from(1, 3);
    j.model.moe = spec::Moe{.experts = 16, .top_k = dice.of({1, 2, 8}), .ffn = dice.of({128, 512})};
    j.model.moe->first_dense = j.model.layers > 1 && dice.coin() ? 1 : 0;
    j.strategy.ep = cut.dp;
    j.strategy.overlap.p2p = cut.vpp > 1 || dice.coin();
    j.strategy.overlap.grad_reduce = dice.coin();
    j.strategy.moe_dispatcher = dice.coin() ? spec::MoeDispatcher::alltoall : spec::MoeDispatcher::deepep;
  });
}

double seconds(const result::Prediction& p, const std::string& name) {
  double sum = 0;
  for (const auto& [share, value] : p.breakdown_s) {
    if (share == name) sum += value;
  }
  return sum;
}

TEST(ExpertOverlap, NeverCostsTimeWhereTokensTravelForAFifthOfTheStep) {
  // Within 2 %: a pair sends later what a forward and a backward one behind the other would have sent earlier. Within
  // 10 % where the first stage never pairs anything, for it has no more chunks to run than it runs ahead: a pair of the
  // other stages then holds up a backward whose exchange cannot get any faster.
  walk::Dice dice(811);
  int met = 0;
  for (int i = 0; i < 600; ++i) {
    spec::Job j = job_of_experts(dice);
    const result::Prediction apart = sim::predict(j).prediction;
    j.strategy.overlap.expert = true;
    const result::Prediction beside = sim::predict(j).prediction;
    double moved = 0;
    for (const result::Communication& axis : beside.communication) {
      if (axis.axis == "ep") moved = axis.time_s;
    }
    SCOPED_TRACE(walk::told(j));
    EXPECT_GE(beside.step_time_s * 1.000001, moved) << "tokens travel one exchange behind the other";
    EXPECT_GE(beside.step_time_s * 1.000001, seconds(apart, "compute")) << "kernels run one behind the other";
    for (std::size_t s = 0; s < apart.stages.size(); ++s) {
      for (const auto& [name, bytes] : apart.stages[s].categories) {
        if (name != "parameters" && name != "gradients" && name != "optimizer") continue;
        const auto same = std::ranges::find(beside.stages[s].categories, name, [](const auto& c) { return c.first; });
        ASSERT_NE(same, beside.stages[s].categories.end());
        EXPECT_EQ(bytes, same->second) << name;
      }
    }
    if (seconds(apart, "exposed_ep") < apart.step_time_s / 5) continue;
    ++met;
    const spec::Strategy& s = j.strategy;
    const bool pairs = spec::microbatches(j) * s.vpp > 2 * (s.pp - 1) + (s.vpp - 1) * s.pp + 1;
    EXPECT_LE(beside.step_time_s, (pairs ? 1.02 : 1.1) * apart.step_time_s);
    if (pairs) {
      EXPECT_LT(seconds(beside, "exposed_ep"), seconds(apart, "exposed_ep"));
    }
  }
  EXPECT_GT(met, 80);
}

}  // namespace
