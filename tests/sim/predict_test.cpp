// tests/sim/predict_test.cpp -- laws of the whole prediction on random toy jobs.
// SPDX-License-Identifier: Apache-2.0
#include "sim/predict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/plan/build.h"
#include "sim/advice.h"
#include "sim/memory/mends.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"
#include "tests/sim/random_jobs.h"

namespace {

using trace::Ticks;

sim::EngineOutput engine_on(const spec::Job& job) {
  const plan::Plan plan = plan::build(job);
  return sim::run(sim::priced(plan, job));
}

Ticks length_of(const spec::Job& job) { return sim::predict(job).trace.length; }

TEST(Predict, NoRandomJobDeadlocksOrLosesAnOperator) {
  random_jobs::Source source(1);
  for (int n = 0; n < 300; ++n) {
    spec::Job job = source.job();
    for (const bool p2p : {true, false}) {
      job.strategy.overlap.p2p = p2p;
      const std::int64_t folded = plan::build(job).operators();  // a framework may await what is not overlapped
      const sim::EngineOutput out = engine_on(job);
      ASSERT_FALSE(out.deadlocked) << random_jobs::text(job);
      if (!p2p) continue;
      ASSERT_GE(out.completed, folded) << random_jobs::text(job);
    }
  }
}

TEST(Predict, InterleavedSchedulesRunWhateverTheMicrobatches) {
  // check() wants a multiple of pp today; the plan itself must not hang on others either.
  for (const int pp : {2, 3, 4}) {
    for (int m = 1; m <= 3 * pp; ++m) {
      for (const bool p2p : {true, false}) {
        spec::Job job = toy::job({.pp = pp, .vpp = 2, .microbatches = pp}, [&](spec::Job& j) {
          j.model.layers = 2 * pp;
          j.strategy.overlap.p2p = p2p;
        });
        job.training.global_batch = m;
        ASSERT_FALSE(engine_on(job).deadlocked) << "pp " << pp << " microbatches " << m << " p2p overlap " << p2p;
      }
    }
  }
}

TEST(Predict, FoldedIsUnfoldedToThePicosecond) {
  random_jobs::Source source(2);
  for (int n = 0; n < 150; ++n) {
    spec::Job job = source.job();
    const Ticks folded = length_of(job);
    job.simulation.unfold = true;
    ASSERT_EQ(length_of(job), folded) << n << ": " << random_jobs::text(job);
  }
}

TEST(Predict, SharesOfTheStepAddUpToItBitForBit) {
  random_jobs::Source source(3);
  for (int n = 0; n < 300; ++n) {
    const result::Prediction p = sim::predict(source.job()).prediction;
    double sum = 0;
    for (const auto& [name, seconds] : p.breakdown_s) {
      EXPECT_GE(seconds, 0) << name;
      sum += seconds;
    }
    ASSERT_EQ(sum, p.step_time_s) << n;
  }
}

TEST(Predict, AnOutlineHasThePredictionsFigures) {
  random_jobs::Source source(9);
  for (int n = 0; n < 150; ++n) {
    spec::Job job = source.job();
    job.strategy.optimizer_barrier = source.coin();  // without it every stage has a clock of its own
    job.simulation.unfold = source.below(4) == 0;
    job.cluster.node.gpu.memory = base::Bytes(source.one_of({1e8, 1e9, 80e9}));
    const sim::Outcome whole = sim::predict(job, sim::Detail::chains);
    const sim::Outline outline = sim::outline(job);
    ASSERT_EQ(outline.step_time_s, whole.prediction.step_time_s) << n << ": " << random_jobs::text(job);
    ASSERT_EQ(outline.peak_bytes, whole.prediction.peak_bytes) << n;
    ASSERT_EQ(outline.fits, whole.prediction.fits) << n;
    if (job.simulation.unfold) continue;  // some of the ranks are not shown
    std::size_t spans = 0;
    for (const trace::Track& track : whole.trace.tracks) spans += track.spans.size();
    ASSERT_EQ(outline.spans, static_cast<std::int64_t>(spans)) << n;
  }
}

TEST(Predict, TheSameJobGetsTheSameAnswerTwice) {
  random_jobs::Source source(4);
  for (int n = 0; n < 40; ++n) {
    spec::Job job = source.job();
    job.simulation.jitter = source.one_of({0.0, 0.1});
    job.simulation.unfold = source.coin();
    const sim::Outcome a = sim::predict(job), b = sim::predict(job);
    const result::Prediction &p = a.prediction, &q = b.prediction;
    EXPECT_EQ(p.job, q.job);
    EXPECT_EQ(p.step_time_s, q.step_time_s);
    EXPECT_EQ(p.step_time_low_s, q.step_time_low_s);
    EXPECT_EQ(p.step_time_high_s, q.step_time_high_s);
    EXPECT_EQ(p.tokens_per_s, q.tokens_per_s);
    EXPECT_EQ(p.tokens_per_s_per_gpu, q.tokens_per_s_per_gpu);
    EXPECT_EQ(p.model_tflops_per_gpu, q.model_tflops_per_gpu);
    EXPECT_EQ(p.hardware_tflops_per_gpu, q.hardware_tflops_per_gpu);
    EXPECT_EQ(p.mfu, q.mfu);
    EXPECT_EQ(p.hfu, q.hfu);
    EXPECT_EQ(p.bubble_fraction, q.bubble_fraction);
    EXPECT_EQ(p.breakdown_s, q.breakdown_s);
    EXPECT_EQ(p.breakdown_stage, q.breakdown_stage);
    EXPECT_EQ(p.fits, q.fits);
    EXPECT_EQ(p.peak_bytes, q.peak_bytes);
    if (!p.fits) {
      EXPECT_EQ(sim::changes_that_fit(job), sim::changes_that_fit(job));
    }
    EXPECT_EQ(p.warnings, q.warnings);
    EXPECT_EQ(p.assumptions, q.assumptions);
    EXPECT_EQ(p.operators, q.operators);
    ASSERT_EQ(p.stages.size(), q.stages.size());
    for (std::size_t s = 0; s < p.stages.size(); ++s) {
      EXPECT_EQ(p.stages[s].categories, q.stages[s].categories);
      EXPECT_EQ(p.stages[s].peak_operator, q.stages[s].peak_operator);
      EXPECT_EQ(p.stages[s].peak_time_s, q.stages[s].peak_time_s);
    }
    ASSERT_EQ(p.communication.size(), q.communication.size());
    for (std::size_t c = 0; c < p.communication.size(); ++c) {
      EXPECT_EQ(p.communication[c].axis, q.communication[c].axis);
      EXPECT_EQ(p.communication[c].bytes, q.communication[c].bytes);
      EXPECT_EQ(p.communication[c].time_s, q.communication[c].time_s);
      EXPECT_EQ(p.communication[c].bus_bandwidth, q.communication[c].bus_bandwidth);
    }
    ASSERT_EQ(a.trace.tracks.size(), b.trace.tracks.size());
    for (std::size_t t = 0; t < a.trace.tracks.size(); ++t) {
      const auto &x = a.trace.tracks[t].spans, &y = b.trace.tracks[t].spans;
      ASSERT_EQ(x.size(), y.size());
      for (std::size_t k = 0; k < x.size(); ++k) {
        ASSERT_EQ(x[k].ready, y[k].ready);
        ASSERT_EQ(x[k].start, y[k].start);
        ASSERT_EQ(x[k].end, y[k].end);
        ASSERT_EQ(x[k].waited_for, y[k].waited_for);
      }
    }
  }
}

TEST(Predict, FasterHardwareNeverMakesAWorkDearer) {
  random_jobs::Source source(5);
  for (int n = 0; n < 100; ++n) {
    const spec::Job job = source.job();
    const plan::Plan plan = plan::build(job);
    const std::vector<base::Seconds> before = sim::prices_of(plan, job.cluster);
    for (int what = 0; what < 4; ++what) {
      spec::Cluster faster = job.cluster;
      if (what == 0) faster.node.gpu.hbm = faster.node.gpu.hbm * 1.7;
      if (what == 1)
        for (base::FlopRate& peak : faster.node.gpu.peak) peak = peak * 1.7;
      if (what == 2) faster.node.nvlink.bandwidth = faster.node.nvlink.bandwidth * 1.7;
      if (what == 3) faster.node.nic.bandwidth = faster.node.nic.bandwidth * 1.7;
      const std::vector<base::Seconds> after = sim::prices_of(plan, faster);
      ASSERT_EQ(after.size(), before.size());
      for (std::size_t w = 0; w < after.size(); ++w)
        ASSERT_LE(after[w], before[w]) << n << " what " << what << " work " << w;
    }
  }
}

TEST(Predict, FasterHardwareNeverMakesAStepLongerWithoutInterference) {
  // Where transfers share a link a shorter one may come to overlap a longer one (Graham's anomalies): 1 % is allowed.
  random_jobs::Source source(6);
  for (int n = 0; n < 100; ++n) {
    spec::Job job = source.job();
    job.cluster.node.calibration.compute_slowdown = job.cluster.node.calibration.comm_slowdown = 1;
    const auto before = static_cast<double>(engine_on(job).end);
    for (int what = 0; what < 4; ++what) {
      spec::Job faster = job;
      spec::Node& node = faster.cluster.node;
      if (what == 0) node.gpu.hbm = node.gpu.hbm * 2;
      if (what == 1)
        for (base::FlopRate& peak : node.gpu.peak) peak = peak * 2;
      if (what == 2) node.nvlink.bandwidth = node.nvlink.bandwidth * 2;
      if (what == 3) node.nic.bandwidth = node.nic.bandwidth * 2;
      ASSERT_LE(static_cast<double>(engine_on(faster).end), before * 1.01) << what << " " << random_jobs::text(job);
    }
  }
}

TEST(Predict, OneSlowRankSlowsTheStepAndNoMoreThanAllOfThemWould) {
  random_jobs::Source source(7);
  for (int n = 0; n < 40; ++n) {
    spec::Job job = source.job();
    job.cluster.node.calibration.compute_slowdown = job.cluster.node.calibration.comm_slowdown = 1;
    job.strategy.cuda_graphs = spec::CudaGraphs::whole;  // kernels, not the host, set the pace
    job.framework.step = {};
    const Ticks usual = engine_on(job).end;
    job.simulation.slow_ranks = {{source.below(job.cluster.gpus()), 1.5}};
    const Ticks slowed = engine_on(job).end;
    EXPECT_GT(slowed, usual) << random_jobs::text(job);
    EXPECT_LE(static_cast<double>(slowed), static_cast<double>(usual) * 1.5 * 1.01) << random_jobs::text(job);
  }
}

TEST(Predict, ASlowLinkSlowsWhatCrossesIt) {
  // Two nodes of 8 joined by data parallelism: the gradients cross the slow cards.
  spec::Job job = toy::job({.tp = 8, .dp = 2, .microbatches = 2});
  const Ticks usual = engine_on(job).end;
  job.simulation.slow_links = {{.node = 1, .factor = 3}};
  EXPECT_GT(engine_on(job).end, usual);
}

TEST(Predict, RatesFollowFromTheStepTime) {
  const spec::Job job = toy::job({.tp = 2, .pp = 2, .dp = 2, .microbatches = 4});
  const result::Prediction p = sim::predict(job).prediction;
  EXPECT_EQ(p.gpus, 8);
  EXPECT_DOUBLE_EQ(p.tokens_per_s, 8 * 128 / p.step_time_s);  // 4 microbatches x 2 replicas of 128 tokens
  EXPECT_DOUBLE_EQ(p.tokens_per_s_per_gpu * 8, p.tokens_per_s);
  EXPECT_DOUBLE_EQ(p.mfu, p.model_tflops_per_gpu / 1000);  // of 1 PFLOP/s
  EXPECT_LT(p.step_time_low_s, p.step_time_s);
  EXPECT_GT(p.step_time_high_s, p.step_time_s);
}

TEST(Predict, AJobThatDoesNotFitIsStillTimedAndAdvised) {
  const toy::Cut cut{.tp = 2, .dp = 4, .microbatches = 4, .micro_batch = 2};
  const result::Prediction roomy = sim::predict(toy::job(cut)).prediction;
  ASSERT_TRUE(roomy.fits);
  EXPECT_TRUE(roomy.mends.empty());
  const spec::Job tight = toy::job(cut, [&](spec::Job& j) {
    j.cluster.node.gpu.memory = base::Bytes(static_cast<double>(roomy.peak_bytes) * 0.95);
  });
  result::Prediction p = sim::predict(tight).prediction;
  EXPECT_FALSE(p.fits);
  EXPECT_EQ(p.step_time_s, roomy.step_time_s);
  sim::advise(tight, p);
  EXPECT_FALSE(p.mends.empty());
  EXPECT_FALSE(p.attack.empty());
}

TEST(Predict, TellsTheSettingsAsResolved) {
  const auto settings = sim::predict(toy::job({.tp = 2, .pp = 2, .dp = 2})).prediction.settings;
  const auto value = [&](const char* key) {
    const auto at = std::ranges::find(settings, key, [](const auto& entry) { return entry.first; });
    return at == settings.end() ? "not told" : at->second;
  };
  EXPECT_EQ(value("strategy.tp"), "2");
  EXPECT_EQ(value("strategy.recompute"), "none");
  EXPECT_EQ(value("training.precision"), "bf16");
  EXPECT_EQ(value("training.optimizer"), "adamw");
  EXPECT_EQ(value("strategy.framework"), "none");
}

}  // namespace
