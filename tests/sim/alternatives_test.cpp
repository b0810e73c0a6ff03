// SPDX-License-Identifier: Apache-2.0
#include "sim/alternatives.h"

#include <gtest/gtest.h>

#include "core/config/change_reader.h"
#include "sim/predict.h"
#include "tests/support/toy.h"

namespace {

result::Alternatives ask(const spec::Job& job, const std::string& changes) {
  return sim::alternatives(job, config::read_changes(changes, job, "--what-if"));
}

TEST(Alternatives, TwiceTheGpuHalvesAStepOfOneGpu) {
  // FLOPs / peak and bytes / HBM are all that a toy's step is: with both doubled it takes half, with one alone more.
  const result::Alternatives a = ask(toy::job({.microbatches = 2}), "gpu.peak=2x,hbm=2x");
  const double before = a.before.step_time_s;
  ASSERT_EQ(a.after.size(), 3u);
  EXPECT_EQ(a.after[2].change, "together");
  EXPECT_NEAR(a.after[2].prediction.step_time_s, before / 2, before * 1e-5);
  for (const int one : {0, 1}) {
    EXPECT_LT(a.after[one].prediction.step_time_s, before);
    EXPECT_GT(a.after[one].prediction.step_time_s, before / 2);
  }
}

TEST(Alternatives, BeforeIsThePredictionAndOneChangeStandsAlone) {
  const spec::Job job = toy::job({.tp = 2});
  const result::Alternatives a = ask(job, "nvlink=2x");
  EXPECT_EQ(a.before.step_time_s, sim::predict(job, sim::Detail::chains).prediction.step_time_s);
  ASSERT_EQ(a.after.size(), 1u);
  EXPECT_LT(a.after[0].prediction.step_time_s, a.before.step_time_s);
}

TEST(Alternatives, MemoryDecidesWhetherItFits) {
  const result::Alternatives a = ask(toy::job(), "gpu.memory=1MB");
  EXPECT_TRUE(a.before.fits);
  EXPECT_FALSE(a.after[0].prediction.fits);
  EXPECT_EQ(a.after[0].prediction.capacity_bytes, 1'000'000);
  EXPECT_EQ(a.after[0].prediction.step_time_s, a.before.step_time_s);
}

TEST(Alternatives, OneThatCannotBeSimulatedTakesNoOtherAway) {
  // A peak of 1 FLOP/s: no sound job; an HBM of 1 B/s: a step longer than can be simulated.
  const spec::Job job = toy::job({.tp = 2});
  const result::Alternatives a = ask(job, "gpu.peak=1FLOP/s,nvlink=2x,hbm=1B/s,nicc=2x,gpu.memory=2x");
  ASSERT_EQ(a.after.size(), 3u);
  EXPECT_EQ(a.after[0].change, "nvlink=2x");
  EXPECT_EQ(a.after[0].prediction.step_time_s, ask(job, "nvlink=2x").after[0].prediction.step_time_s);
  EXPECT_EQ(a.after[2].change, "together");  // of the two that can be
  EXPECT_EQ(a.after[2].inputs.size(), 2u);
  ASSERT_EQ(a.refused.size(), 3u);
  EXPECT_EQ(a.refused[0].change, "nicc=2x");
  EXPECT_EQ(a.refused[0].refusal, "is no input of this job");
  EXPECT_EQ(a.refused[1].change, "gpu.peak=1FLOP/s");
  EXPECT_EQ(a.refused[2].change, "hbm=1B/s");
  EXPECT_EQ(a.refused[2].refusal.find("cluster.node: its speeds could make this step last longer"), 0u)
      << a.refused[2].refusal;
}

}  // namespace
