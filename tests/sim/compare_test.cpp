// SPDX-License-Identifier: Apache-2.0
#include "sim/compare.h"

#include <gtest/gtest.h>

#include "sim/predict.h"
#include "tests/support/toy.h"

namespace {

using result::Comparison;
using Status = result::ComparisonRow::Status;

sim::Candidate candidate(const std::string& name, spec::Job job) { return {name, {}, std::move(job), ""}; }

spec::Job with_memory(double gigabytes) {
  return toy::job({}, [&](spec::Job& j) { j.cluster.node.gpu.memory = base::GB(gigabytes); });
}

TEST(Compare, OrdersEqualStepsByTimeThenWhatDoesNotFitThenWhatIsRefused) {
  // A slower GPU makes a longer step; 1 MB and 2 MB hold no parameters at all, and 1 MB lacks more.
  const spec::Job slow = toy::job({}, [](spec::Job& j) { j.cluster.node.gpu.hbm = base::GBps(100); });
  const Comparison c = sim::compare({{"refused", {}, std::nullopt, "strategy.tp: 3 does not divide"},
                                     candidate("lacks more", with_memory(0.001)),
                                     candidate("slow", slow),
                                     candidate("lacks less", with_memory(0.002)),
                                     candidate("fast", toy::job())});
  ASSERT_EQ(c.rows.size(), 5u);
  EXPECT_EQ(c.rows[0].job, "fast");
  EXPECT_EQ(c.rows[1].job, "slow");
  EXPECT_EQ(c.rows[2].job, "lacks less");
  EXPECT_EQ(c.rows[3].job, "lacks more");
  EXPECT_EQ(c.rows[3].status, Status::does_not_fit);
  EXPECT_EQ(c.rows[4].status, Status::refused);
  EXPECT_EQ(c.rows[4].refusal, "strategy.tp: 3 does not divide");
  EXPECT_EQ(c.order, Comparison::Order::step_time);
  EXPECT_EQ(c.rows[0].prediction.step_time_s, sim::predict(toy::job()).prediction.step_time_s);
}

TEST(Compare, OrdersDecodingByTheTimeOfAToken) {
  // A long cache is read at the pace of the memory. Four microbatches take four stages 7 turns of a stage, and a token
  // comes every 4. One stage of four times the layers, in four replicas of one microbatch each, takes 4 / 0.7 = 5.7
  // turns at 0.7 of the memory's pace.
  const auto decoding = [](const toy::Cut& cut, double memory) {
    return toy::job(cut, [&](spec::Job& j) {
      j.training.mode = spec::Mode::decode;
      j.training.context = 100'000;
      j.cluster.node.gpu.hbm = base::GBps(1000 * memory);
    });
  };
  const Comparison c = sim::compare({candidate("one", decoding({.dp = 4, .microbatches = 1}, 0.7)),
                                     candidate("four", decoding({.pp = 4, .microbatches = 4}, 1))});
  EXPECT_EQ(c.order, Comparison::Order::step_time);
  EXPECT_EQ(result::pace_key(c), "time_per_output_token_s");
  ASSERT_EQ(c.rows[0].job, "four");
  EXPECT_GT(c.rows[0].prediction.step_time_s, c.rows[1].prediction.step_time_s);
}

TEST(Compare, ATokensTimeIsNotHeldAgainstAStepsTime) {
  const auto of = [](spec::Mode mode) {
    return toy::job({}, [&](spec::Job& j) {
      j.training.mode = mode;
      j.training.sequence = 1;
    });
  };
  const Comparison c = sim::compare({candidate("a", of(spec::Mode::decode)), candidate("b", of(spec::Mode::prefill))});
  EXPECT_EQ(c.order, Comparison::Order::tokens_per_gpu);
  EXPECT_EQ(result::pace_key(c), "step_time_s");
}

TEST(Compare, OrdersStepsOfDifferentTokensByTokensPerGpu) {
  // Four microbatches take longer than one, but spread the optimizer over four times the tokens.
  const Comparison c =
      sim::compare({candidate("one", toy::job({.microbatches = 1})), candidate("four", toy::job({.microbatches = 4}))});
  EXPECT_EQ(c.order, Comparison::Order::tokens_per_gpu);
  EXPECT_EQ(c.rows[0].job, "four");
  EXPECT_GT(c.rows[0].prediction.step_time_s, c.rows[1].prediction.step_time_s);
  EXPECT_GT(c.rows[0].prediction.tokens_per_s_per_gpu, c.rows[1].prediction.tokens_per_s_per_gpu);
}

TEST(Compare, OrdersEqualStepsOnDifferentNumbersOfGpusByTokensPerGpu) {
  // Four microbatches on one GPU, or one on each of four, which also reduce gradients: sooner, with less of each GPU.
  const Comparison c = sim::compare({candidate("four", toy::job({.dp = 4, .microbatches = 1})),
                                     candidate("one", toy::job({.dp = 1, .microbatches = 4}))});
  EXPECT_EQ(c.order, Comparison::Order::tokens_per_gpu);
  EXPECT_TRUE(result::gpus_differ(c));
  EXPECT_EQ(c.rows[0].job, "one");
  EXPECT_GT(c.rows[0].prediction.step_time_s, c.rows[1].prediction.step_time_s);
}

TEST(Compare, EqualsKeepTheOrderInWhichTheyWereGiven) {
  const Comparison c =
      sim::compare({candidate("b", toy::job()), candidate("a", toy::job()), candidate("c", toy::job())});
  EXPECT_EQ(c.rows[0].job + c.rows[1].job + c.rows[2].job, "bac");
}

}  // namespace
