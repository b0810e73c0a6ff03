// SPDX-License-Identifier: Apache-2.0
#include "sim/sensitivity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/config/job_reader.h"
#include "core/plan/build.h"
#include "core/spec/inputs.h"
#include "sim/analysis/rerun.h"
#include "tests/sim/random_jobs.h"
#include "tests/support/toy.h"

namespace {

using result::InputEffect;
using result::Sensitivity;

double length(const spec::Job& job) { return static_cast<double>(sim::length_of(plan::build(job), job)); }

const InputEffect* find(const Sensitivity& s, const std::string& input) {
  const auto at = std::find_if(s.effects.begin(), s.effects.end(), [&](const auto& e) { return e.input == input; });
  return at == s.effects.end() ? nullptr : &*at;
}

double elasticity(const Sensitivity& s, const std::string& input) {
  const InputEffect* e = find(s, input);
  return e ? e->elasticity : 0;
}

/// Of all inputs with the second in their unit, weighted by its power.
double euler_sum(const Sensitivity& s) {
  double sum = 0;
  for (const InputEffect& e : s.effects) {
    if (e.unit == "s") sum += e.elasticity;
    if (e.unit == "B/s" || e.unit == "FLOP/s" || e.unit == "W") sum -= e.elasticity;
  }
  return sum;
}

spec::Job catalogue_job(const std::string& name) {
  const std::string path = std::string(FORERUN_SOURCE_DIR) + "/workloads/jobs/" + name + ".yaml";
  return config::read_job(config::load(path), config::Catalogue::find());
}

/// Rates divided by `factor`, latencies times it.
spec::Job slowed(spec::Job job, double factor) {
  for (const spec::Input& input : spec::inputs(job)) {
    spec::set_input(job, input.name, input.value * std::pow(factor, spec::power_of_time(input.unit)));
  }
  return job;
}

TEST(Sensitivity, OfOneGpuIsPeakAndMemoryAlone) {
  // A toy GPU's kernels have no overhead and its host no cost: the step is FLOPs / peak and bytes / HBM, nothing else.
  const Sensitivity s = sim::sensitivity(toy::job({.microbatches = 2}));
  EXPECT_LT(elasticity(s, "gpu.peak.bf16"), 0);
  EXPECT_LT(elasticity(s, "gpu.hbm"), 0);
  EXPECT_NEAR(elasticity(s, "gpu.peak.bf16") + elasticity(s, "gpu.hbm"), -1, 1e-5);
  for (const InputEffect& e : s.effects) {
    EXPECT_TRUE(e.exact) << e.input;
    EXPECT_TRUE(e.unit.empty() || e.input == "gpu.peak.bf16" || e.input == "gpu.hbm") << e.input;
  }
}

TEST(Sensitivity, TenPercentMoreIsTheStepRunAgain) {
  const spec::Job job = toy::job({.tp = 2, .microbatches = 2});
  const Sensitivity s = sim::sensitivity(job);
  spec::Job faster = job;
  faster.cluster.node.nvlink.bandwidth = faster.cluster.node.nvlink.bandwidth * 1.1;
  ASSERT_NE(find(s, "nvlink.bandwidth"), nullptr);
  EXPECT_EQ(find(s, "nvlink.bandwidth")->step_with_more_s, length(faster) / trace::kTicksPerSecond);
}

TEST(Sensitivity, AShareIsRaisedToItsWholeAtMost) {
  // A tile of a quarter of the area goes at 0.9921 of a whole one's pace: at 1.09 it would be picked for every matmul.
  const spec::Job job = catalogue_job("llama3-8b-32xh200");
  const Sensitivity s = sim::sensitivity(job);
  spec::Job whole = job;
  spec::set_input(whole, "matmul.bf16.quarter_tile", 1);
  ASSERT_NE(find(s, "matmul.bf16.quarter_tile"), nullptr);
  EXPECT_GT(find(s, "matmul.bf16.quarter_tile")->value, 0.95);
  EXPECT_EQ(find(s, "matmul.bf16.quarter_tile")->step_with_more_s, length(whole) / trace::kTicksPerSecond);
}

TEST(Sensitivity, WhereThereIsNoMoreOfAShareItsSlopeIsThatTowardsLess) {
  // At its whole, or above it as a file may say, it can only shrink: then the step takes longer.
  for (const double share : {1.0, 1.2}) {
    spec::Job job = catalogue_job("llama3-8b-32xh200");
    spec::set_input(job, "matmul.bf16.quarter_tile", share);
    const Sensitivity s = sim::sensitivity(job);
    const InputEffect* e = find(s, "matmul.bf16.quarter_tile");
    ASSERT_NE(e, nullptr) << share;
    EXPECT_LT(e->elasticity, 0) << share;
    EXPECT_EQ(e->above, e->below) << share;
    EXPECT_NEAR(e->step_with_more_s, s.step_time_s, 1e-9 * s.step_time_s) << share;
  }
}

TEST(Sensitivity, OfAHostBoundStepIsItsIssueRate) {
  // 40 us a launch is longer than any kernel of the toy.
  const Sensitivity s = sim::sensitivity(
      toy::job({}, [](spec::Job& j) { j.framework.launch = j.framework.backward_launch = base::us(40); }));
  EXPECT_GT(elasticity(s, "framework.launch") + elasticity(s, "framework.backward_launch"), 0.9);
  EXPECT_EQ(find(s, "framework.launch")->exact, false);
}

TEST(Sensitivity, CountsWhatDoesNotAct) {
  // One GPU uses no link: none is listed, and all inputs are accounted for.
  const spec::Job job = toy::job();
  const Sensitivity s = sim::sensitivity(job);
  EXPECT_EQ(find(s, "nvlink.bandwidth"), nullptr);
  EXPECT_EQ(find(s, "gpu.memory"), nullptr);
  EXPECT_EQ(static_cast<std::size_t>(s.unused + s.hidden + s.counts) + s.effects.size(), spec::inputs(job).size());
}

TEST(Sensitivity, AHalfAsFastClusterTakesTwiceTheTime) {
  // The step is homogeneous: with every rate halved and every latency doubled it takes twice as long, exactly but for
  // the picosecond that each operator is rounded to. An input that the list forgot would break it.
  random_jobs::Source source(11);
  for (int i = 0; i < 60; ++i) {
    const spec::Job job = source.job();
    const double once = length(job), twice = length(slowed(job, 2));
    EXPECT_NEAR(twice / once, 2, 2e-5) << random_jobs::text(job);
  }
}

TEST(Sensitivity, SoDoesEveryKindOfJob) {
  for (const char* name : {"llama2-13b-offload-2x4090", "llama3-70b-h100-a100", "mixtral-8x7b-64xh100", "dlrm-8xa100",
                           "resnet50-8xa100", "llama3-8b-fp8-8xb200", "llama3-70b-decode-8xh100",
                           "qwen2.5-32b-64xh800"}) {
    const spec::Job job = catalogue_job(name);
    EXPECT_NEAR(length(slowed(job, 2)) / length(job), 2, 1e-6) << name;
  }
}

TEST(Sensitivity, ElasticitiesAddUpByEuler) {
  // The same law at the margin: over latencies less over rates the elasticities are 1. Along one path it holds even
  // where two paths are equally long. Differences miss it where the step bends (each input picks a side of its own) or
  // jumps, for the order in which collectives meet may turn with the least change: 1 in 30 of these jobs does.
  random_jobs::Source source(12);
  int exact = 0, near = 0;
  const int jobs = 30;
  for (int i = 0; i < jobs; ++i) {
    const spec::Job job = source.job();
    const Sensitivity s = sim::sensitivity(job);
    // Times of the host never are along the path; they have no other.
    const bool along_path = std::all_of(s.effects.begin(), s.effects.end(), [](const auto& e) {
      return e.exact || e.input.starts_with("framework.") || e.input.starts_with("host.launch_slowdown");
    });
    exact += along_path;
    near += std::abs(euler_sum(s) - 1) < 0.01;
    if (along_path) {
      EXPECT_NEAR(euler_sum(s), 1, 1e-3) << random_jobs::text(job);
    }
  }
  EXPECT_GT(exact, 0);
  EXPECT_GE(near, jobs * 9 / 10);
}

TEST(Sensitivity, AlongThePathIsBetweenTheSlopesOnEitherSide) {
  // Sums and maxima of prices are convex in them: a path's slope lies between those of the step just below and above,
  // and is both where no other path is as long.
  constexpr double h = 1e-3;
  random_jobs::Source source(13);
  int compared = 0;
  for (int i = 0; i < 30; ++i) {
    const spec::Job job = source.job();
    const Sensitivity s = sim::sensitivity(job);
    const plan::Plan plan = plan::build(job);
    const double step = length(job);
    for (const spec::Input& input : spec::inputs(job)) {
      const InputEffect* e = find(s, input.name);
      if (!e || !e->exact) continue;
      ++compared;
      const double above = static_cast<double>(sim::Rerun(job, plan, input, input.value * (1 + h)).length());
      const double below = static_cast<double>(sim::Rerun(job, plan, input, input.value * (1 - h)).length());
      const double right = (above / step - 1) / h, left = (1 - below / step) / h;
      EXPECT_GE(e->elasticity, std::min(left, right) - 2e-3) << input.name << ' ' << random_jobs::text(job);
      EXPECT_LE(e->elasticity, std::max(left, right) + 2e-3) << input.name << ' ' << random_jobs::text(job);
    }
  }
  EXPECT_GT(compared, 20);
}

TEST(Sensitivity, InputsThatShapeThePlanSaySo) {
  // The plan of any other is kept when it changes: a rebuilt one is the same.
  for (const char* name : {"llama2-13b-offload-2x4090", "llama3-70b-64xh100", "dlrm-8xa100", "qwen2.5-32b-64xh800"}) {
    const spec::Job job = catalogue_job(name);
    const plan::Plan plan = plan::build(job);
    for (const spec::Input& input : spec::inputs(job)) {
      if (input.shapes_plan || !(input.value > 0)) continue;
      spec::Job other = job;
      spec::set_input(other, input.name, input.value * 1.5);
      EXPECT_TRUE(plan::build(other).works == plan.works) << name << ": " << input.name;
    }
  }
}

}  // namespace
