// tests/core/plan/states_test.cpp -- bytes of model states under each stage of ZeRO.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/states.h"

#include <gtest/gtest.h>

#include "tests/core/plan/walk.h"

namespace {

using plan::Category;

std::int64_t held(const plan::Role& role, Category category) { return role.resident[static_cast<int>(category)]; }

std::int64_t states(const plan::Role& role) {
  return held(role, Category::parameters) + held(role, Category::gradients) + held(role, Category::optimizer);
}

plan::Role role_of(const spec::Job& j, plan::Held parameters) {
  const plan::Context c(j);
  plan::Role role;
  plan::hold_states(c, parameters, {}, role);
  return role;
}

TEST(States, AreThoseOfThePaper) {
  // bf16, Adam, fp32 gradients, P = 1000 over n = 4: 18 P; 6 P + 12 P/n; 2 P + 16 P/n; 18 P/n.
  const std::int64_t expected[] = {18'000, 6000 + 3000, 2000 + 4000, 4500};
  for (int zero = 0; zero <= 3; ++zero) {
    EXPECT_EQ(states(role_of(toy::job({.dp = 4, .zero = zero}), {1000, 0})), expected[zero]) << zero;
  }
}

TEST(States, MomentsIn16BitsTakeHalf) {
  // Master weight 4 bytes, two moments of 2; SGD's momentum one.
  for (const auto& [optimizer, bytes] : {std::pair{spec::Optimizer::adamw, 8}, {spec::Optimizer::sgd, 6}}) {
    const spec::Job j = toy::job({}, [&, o = optimizer](spec::Job& job) {
      job.training.optimizer = o;
      job.training.moments_dtype = spec::Dtype::bf16;
    });
    EXPECT_EQ(held(role_of(j, {1000, 0}), Category::optimizer), 1000 * bytes);
  }
}

TEST(States, MasterWeightsThatAreTheShardsCountOnce) {
  // PyTorch: parameters 4 P/n, gradients 4 P/n, two moments 8 P/n.
  const spec::Job j = toy::job({.dp = 4, .zero = 3}, [](spec::Job& job) { job.framework.fp32_shards = true; });
  const plan::Role role = role_of(j, {1000, 0});
  EXPECT_EQ(held(role, Category::parameters), 1000);
  EXPECT_EQ(held(role, Category::gradients), 1000);
  EXPECT_EQ(held(role, Category::optimizer), 2000);
}

TEST(States, GradientsComeBackInTheDtypeOfShardsWithoutMasters) {
  // PyTorch reduces in fp32 and casts to the parameter's 2 bytes: weights, gradients and each moment 2 P/n.
  const spec::Job j = toy::job({.dp = 4, .zero = 3}, [](spec::Job& job) {
    job.framework.fp32_shards = true;
    job.framework.moments_as_weights = true;
    job.training.master_weights = false;
    job.training.moments_dtype = spec::Dtype::bf16;
  });
  ASSERT_EQ(j.training.gradients(), spec::Dtype::fp32);
  const plan::Role role = role_of(j, {1000, 0});
  EXPECT_EQ(held(role, Category::parameters), 500);
  EXPECT_EQ(held(role, Category::gradients), 500);
  EXPECT_EQ(held(role, Category::optimizer), 1000);
}

TEST(States, AreSharedInsideTheShardGroupAlone) {
  // 8 replicas in groups of 2: 18 P/2.
  const spec::Job j = toy::job({.dp = 8, .zero = 3}, [](spec::Job& job) { job.strategy.shard = 2; });
  EXPECT_EQ(states(role_of(j, {1000, 0})), 9000);
}

TEST(States, EachStageOfZeroHoldsLessThanTheOneBefore) {
  walk::Dice dice(7);
  for (int n = 0; n < 200; ++n) {
    spec::Job j = walk::random_job(dice);
    if (j.strategy.data() == 1) continue;
    std::vector<std::int64_t> before;
    for (int zero = 0; zero <= 3; ++zero) {
      j.strategy.zero = zero;
      const plan::Plan p = plan::build(j);
      std::vector<std::int64_t> now;
      for (const plan::Role& role : p.roles) now.push_back(states(role));
      for (std::size_t r = 0; r < before.size(); ++r) EXPECT_LT(now[r], before[r]) << walk::told(j);
      before = now;
    }
  }
}

TEST(States, FusedAccumulationLeavesAPlaceholderForEachShapeOfALinear) {
  // One layer's weights whatever the number of layers, h = 256: q, k, v and projection 4 h h, feed-forward 8 h h;
  // halved by tp 2; 2 bytes each.
  const auto placeholders = [](int tp, double fp8, bool fused) {
    const spec::Job j = toy::job({.tp = tp}, [&](spec::Job& job) {
      job.framework.placeholders_of_fp8_gpus = true;
      job.cluster.node.gpu.peak[static_cast<int>(spec::Dtype::fp8)] = base::TFLOPps(fp8);
      job.strategy.fused_kernels.grad_accumulation = fused;
    });
    const plan::Context c(j);
    plan::Role role;
    plan::hold_states(c, {}, plan::chunks_of(c)[0], role);
    return held(role, Category::gradients);
  };
  EXPECT_EQ(placeholders(1, 2000, true), 12 * 256 * 256 * 2);
  EXPECT_EQ(placeholders(2, 2000, true), 6 * 256 * 256 * 2);
  EXPECT_EQ(placeholders(1, 0, true), 0);
  EXPECT_EQ(placeholders(1, 2000, false), 0);
}

TEST(States, AGradientThatWasAddedMayBeFreed) {
  // 1000 parameters: fp32 sums of 4 bytes, and 16-bit gradients of 2 unless they go as they are added.
  const auto gradients = [](bool freed, bool fused) {
    return held(role_of(toy::job({},
                                 [&](spec::Job& job) {
                                   job.framework.frees_added_gradients = freed;
                                   job.strategy.fused_kernels.grad_accumulation = fused;
                                 }),
                        {1000, 0}),
                Category::gradients);
  };
  EXPECT_EQ(gradients(false, false), 6000);
  EXPECT_EQ(gradients(true, false), 4000);
  EXPECT_EQ(gradients(false, true), 4000);
}

TEST(States, WithOneReplicaNothingIsShared) {
  for (const int zero : {2, 3}) {
    EXPECT_EQ(states(role_of(toy::job({.zero = zero}), {1000, 0})), 18'000);
  }
}

}  // namespace
