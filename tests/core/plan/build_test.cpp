// tests/core/plan/build_test.cpp -- whole Plans: resident bytes, calls, recomputation, memory.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/block.h"
#include "core/plan/build.h"
#include "core/plan/schedule/schedule.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Call;
using plan::Category;
using plan::Operator;
using plan::Plan;
using plan::Role;
using walk::parameters;
using Kind = spec::Recompute::Kind;

std::int64_t resident(const Role& role, Category category) { return role.resident[static_cast<int>(category)]; }

/// Bytes that each rank of a toy with `fused` accumulation holds for one parameter.
double bytes_a_parameter(spec::Dtype gradients, bool fused) {
  const spec::Job j = toy::job({}, [=](spec::Job& job) {
    job.training.gradient_dtype = gradients;
    job.strategy.fused_kernels.grad_accumulation = fused;
  });
  const Role role = plan::build(j).roles[0];
  std::int64_t sum = 0;
  for (const std::int64_t bytes : role.resident) sum += bytes;
  return static_cast<double>(sum) / static_cast<double>(parameters(j, role));
}

TEST(Resident, AParameterUnderAdamHoldsSixteenBytesWithBf16Gradients) {
  // 2 weight + 2 gradient + 12 (fp32 weight, two moments): Rajbhandari et al., arXiv 1910.02054, section 3.1.
  EXPECT_EQ(bytes_a_parameter(spec::Dtype::bf16, true), 16);
  EXPECT_EQ(bytes_a_parameter(spec::Dtype::bf16, false), 16);
}

TEST(Resident, AParameterUnderAdamHoldsEighteenBytesWithFp32Gradients) {
  EXPECT_EQ(bytes_a_parameter(spec::Dtype::fp32, true), 2 + 4 + 12);
}

TEST(Resident, AParameterUnderAdamHoldsTwentyBytesWithBothGradients) {
  // Korthikanti et al.'s Megatron: a bf16 gradient leaves the matmul and is added to the fp32 one.
  EXPECT_EQ(bytes_a_parameter(spec::Dtype::fp32, false), 2 + 2 + 4 + 12);
}

TEST(Resident, ZeroOneDividesOnlyTheOptimizersPart) {
  const spec::Job all = toy::job({.tp = 2, .pp = 2, .dp = 4}), cut = toy::job({.tp = 2, .pp = 2, .dp = 4, .zero = 1});
  const Plan whole = plan::build(all), shared = plan::build(cut);
  for (int stage = 0; stage < 2; ++stage) {
    const Role &a = whole.roles[stage], &b = shared.roles[stage];
    const std::int64_t count = parameters(all, a);
    EXPECT_EQ(resident(a, Category::optimizer), 12 * count);
    EXPECT_EQ(resident(b, Category::optimizer), 12 * ((count + 3) / 4));
    for (int category = 0; category < plan::kCategories; ++category) {
      if (category == static_cast<int>(Category::optimizer)) continue;
      EXPECT_EQ(a.resident[category], b.resident[category]);
    }
  }
}

TEST(Build, RolesStandForAllRanksOfTheirStage) {
  const Plan p = plan::build(toy::job({.tp = 2, .pp = 4, .dp = 3, .microbatches = 2}));
  ASSERT_EQ(p.roles.size(), 4u);
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(p.roles[stage].stage, stage);
    EXPECT_EQ(p.roles[stage].ranks, 6);
    EXPECT_EQ(p.roles[stage].first_rank, 6 * stage);
  }
  EXPECT_EQ(p.tokens, 2 * 3 * 128);
}

TEST(Build, TellsWhetherStagesReachOneAnotherOverTheFabric) {
  // Nodes of 8 ranks, a stage of 4 or of 8.
  EXPECT_FALSE(plan::build(toy::job({.tp = 4, .pp = 2})).stages_over_fabric);
  EXPECT_TRUE(plan::build(toy::job({.tp = 4, .pp = 2, .dp = 2})).stages_over_fabric);
  EXPECT_FALSE(plan::build(toy::job({.tp = 4, .dp = 4})).stages_over_fabric);  // no stages
  const auto rack = [](spec::Job& j) { j.cluster.node.nvlink.domain = 16; };
  EXPECT_FALSE(plan::build(toy::job({.tp = 4, .pp = 2, .dp = 2}, rack)).stages_over_fabric);
}

TEST(Build, StagesRunTheirSlotsBetweenBeginAndEnd) {
  walk::Dice dice(60);
  for (int i = 0; i < 100; ++i) {
    const spec::Job j = walk::random_job(dice);
    const Plan p = plan::build(j);
    const auto orders =
        plan::orders(j.strategy.schedule, {0, p.pp, j.strategy.vpp, static_cast<int>(spec::microbatches(j))});
    for (const Role& role : p.roles) {
      const std::vector<plan::Slot>& slots = orders[role.stage];
      ASSERT_EQ(role.calls.size(), slots.size() + 2);
      EXPECT_EQ(p.segments[role.calls.front().segment].name, "begin");
      EXPECT_EQ(p.segments[role.calls.back().segment].name, "end");
      for (std::size_t at = 0; at < slots.size(); ++at) {
        const Call& call = role.calls[at + 1];
        EXPECT_EQ(call.microbatch, slots[at].microbatch);
        EXPECT_EQ(call.chunk, slots[at].chunk);
        const bool backward = p.segments[call.segment].name.find("backward") != std::string::npos;
        EXPECT_EQ(backward, slots[at].pass != plan::Pass::forward);
      }
    }
  }
}

TEST(Build, EachLayerIsForwardedByTheStageThatHoldsIt) {
  const spec::Job j = toy::job({.pp = 3, .microbatches = 2}, [](spec::Job& job) {
    job.strategy.stage_layers = {0, 3, 1};
  });
  const Plan p = plan::build(j);
  const std::vector<std::set<int>> expected{{}, {0, 1, 2}, {3}};
  for (const Role& role : p.roles) {
    std::set<int> layers;
    walk::operators(p, role, [&](const Call&, const Operator& op) {
      if (op.layer >= 0) layers.insert(op.layer);
    });
    EXPECT_EQ(layers, expected[role.stage]);
    EXPECT_EQ(walk::count(p, role, "embedding gradient"), role.stage == 0 ? 2 : 0);
    EXPECT_EQ(walk::count(p, role, "loss gradient"), role.stage == 2 ? 2 : 0);
  }
}

TEST(Build, RecomputesOneMoreForwardOfEveryBlockUnderFullRecompute) {
  walk::Dice dice(61);
  for (int i = 0; i < 100; ++i) {
    spec::Job j = walk::random_job(dice);
    j.strategy.recompute = {Kind::full, 0};
    const Plan p = plan::build(j);
    for (const Role& role : p.roles) {
      double forward = 0, again = 0;
      walk::operators(p, role, [&](const Call&, const Operator& op) {
        if (op.layer < 0) return;  // embedding and head are not recomputed
        if (op.phase == plan::Phase::forward) forward += plan::hardware_flops(p.works[op.work]);
        if (op.phase == plan::Phase::recompute) again += plan::hardware_flops(p.works[op.work]);
      });
      EXPECT_EQ(forward, again) << walk::told(j);
    }
  }
}

TEST(Build, EveryTakeIsGivenBackWithinTheStepAndNothingBeforeItWasTaken) {
  walk::Dice dice(62);
  for (int i = 0; i < 200; ++i) {
    const spec::Job j = walk::random_job(dice);
    const Plan p = plan::build(j);
    for (const Role& role : p.roles) {
      std::map<std::pair<int, int>, std::array<std::int64_t, plan::kCategories>> held;  // by microbatch and chunk
      for (const Call& call : role.calls) {
        const plan::Segment& segment = p.segments[call.segment];
        std::pair<int, bool> last{0, false};
        for (const plan::MemoryChange& change : segment.memory) {
          ASSERT_LT(change.at, static_cast<int>(segment.operators.size())) << walk::told(j);
          ASSERT_LE(last, (std::pair{static_cast<int>(change.at), change.after})) << "not in order, " << walk::told(j);
          last = {change.at, change.after};
          std::int64_t& now = held[{call.microbatch, call.chunk}][static_cast<int>(change.category)];
          now += change.bytes;
          ASSERT_GE(now, 0) << walk::told(j);
        }
      }
      for (const auto& [where, bytes] : held) {
        for (const std::int64_t left : bytes) EXPECT_EQ(left, 0) << walk::told(j);
      }
    }
  }
}

TEST(Build, AStageHoldsTheActivationsOfTheMicrobatchesInFlight) {
  // 1F1B, 4 stages of one layer, 6 microbatches: stage s holds 4 - s of them between forward and backward, GPipe all 6.
  // The middle stages have no embedding and no head.
  for (const spec::Schedule schedule : {spec::Schedule::one_f_one_b, spec::Schedule::gpipe}) {
    const spec::Job j = toy::job({.pp = 4, .microbatches = 6, .schedule = schedule});
    const plan::Context c(j);
    const std::int64_t one = plan::kept_activations(c, Kind::none).total();
    const Plan p = plan::build(j);
    for (const int stage : {1, 2}) {
      std::int64_t now = 0, most = 0;
      for (const Call& call : p.roles[stage].calls) {
        for (const plan::MemoryChange& change : p.segments[call.segment].memory) {
          if (change.category == Category::activations) most = std::max(most, now += change.bytes);
        }
      }
      EXPECT_EQ(most, one * (schedule == spec::Schedule::gpipe ? 6 : 4 - stage));
    }
  }
}

TEST(Build, GrowsWithRolesAndNotWithMicrobatchesOrReplicas) {
  const Plan few = plan::build(toy::job({.pp = 2, .dp = 2, .microbatches = 4}));
  const Plan many = plan::build(toy::job({.pp = 2, .dp = 64, .microbatches = 400}));
  EXPECT_EQ(few.segments.size(), many.segments.size());
  EXPECT_EQ(few.works.size(), many.works.size());
  // 4 and 400 microbatches between the same begin and end, on both stages.
  std::int64_t ends = 0;
  for (const Role& role : few.roles) {
    for (const Call& call : role.calls) {
      if (call.microbatch < 0) ends += static_cast<std::int64_t>(few.segments[call.segment].operators.size());
    }
  }
  EXPECT_EQ(many.operators() - ends, 100 * (few.operators() - ends));
}

}  // namespace
