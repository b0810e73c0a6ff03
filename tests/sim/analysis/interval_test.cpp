// tests/sim/analysis/interval_test.cpp -- the 80 % interval worked out by hand on toys, and what widens it.
// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/predict.h"
#include "tests/sim/random_jobs.h"

namespace {

using result::IntervalContribution;

constexpr double kTenth = 1.2815515655446004;

/// The toy, with heads of 64, on one GPU whose memory costs no time and whose one SM is always full: matmuls and
/// attention alone.
template <class Change>
spec::Job arithmetic(Change change) {
  return toy::job({}, [&](spec::Job& j) {
    j.cluster.node.gpu.hbm = base::GBps(1e12);
    j.cluster.node.gpu.sms = 1;
    j.model.heads = j.model.kv_heads = 4;
    j.model.head_dim = 64;
    change(j);
  });
}

result::Prediction predict(const spec::Job& job) { return sim::predict(job).prediction; }

const IntervalContribution& cause(const result::Prediction& p, const std::string& name) {
  const auto at = std::find_if(p.interval_contributions.begin(), p.interval_contributions.end(),
                               [&](const auto& c) { return c.cause == name; });
  if (at == p.interval_contributions.end()) throw std::logic_error("no cause " + name);
  return *at;
}

bool has(const result::Prediction& p, const std::string& name) {
  return std::any_of(p.interval_contributions.begin(), p.interval_contributions.end(),
                     [&](const auto& c) { return c.cause == name; });
}

/// How many times the high end is the low one.
double width(const result::Prediction& p) { return p.step_time_high_s / p.step_time_low_s; }

/// Every constant is set, so that all causes act.
spec::Uncertainty full() {
  spec::Uncertainty u;
  u.stack = {0.01, 0.1};
  u.unmodelled = {0.02, 0.05};
  u.repeat = 0.02;
  u.host = u.interference = u.copies = 0.3;
  u.assumed_attention = 0.2;
  u.assumed_option = 0.01;
  u.outside_fit = 2;
  u.scarce.fill({0.1, 0.2});
  return u;
}

TEST(Interval, IndependentCausesAddUpAsSquares) {
  // 3 and 4 % are 5 %; the slower side has 12 % more: 13 %.
  const sim::Interval interval = sim::interval_of({{"a", 1, 0.03, 0.03}, {"b", 1, 0.04, 0.04}, {"c", 1, 0, 0.12}});
  EXPECT_DOUBLE_EQ(interval.low, std::exp(-kTenth * 0.05));
  EXPECT_DOUBLE_EQ(interval.high, std::exp(kTenth * 0.13));
}

TEST(Interval, NoCauseIsNoWidth) {
  EXPECT_EQ(sim::interval_of({}).low, 1);
  EXPECT_EQ(sim::interval_of({}).high, 1);
}

TEST(Interval, OfAToyByHand) {
  // s = 128, h = 256, 4 layers, V = 2048. Matmuls, forward and twice backward: 3 (4 x 24 s h^2 + 2 s h V) =
  // 2,818,572,288 FLOPs. Attention, causal, forward and 2.5 times backward: 3.5 x 4 x 4 s^2 h / 2 = 117,440,512. Of the
  // step they are 0.96 and 0.04. Without a calibration both are off by 0.35: sigma = 0.35 sqrt(0.96^2 + 0.04^2).
  const result::Prediction p = predict(arithmetic([](spec::Job&) {}));
  EXPECT_NEAR(cause(p, "matmul bf16").share, 0.96, 1e-5);
  EXPECT_NEAR(cause(p, "matmul bf16").slower, 0.96 * 0.35, 1e-5);
  EXPECT_NEAR(cause(p, "attention flash2").slower, 0.04 * 0.35, 1e-5);
  const double sigma = 0.35 * std::sqrt(0.96 * 0.96 + 0.04 * 0.04);
  EXPECT_NEAR(p.step_time_low_s / p.step_time_s, std::exp(-kTenth * sigma), 1e-5);
  EXPECT_NEAR(p.step_time_high_s / p.step_time_s, std::exp(kTenth * sigma), 1e-5);
}

TEST(Interval, AnAssumedAttentionKernelActsOnAttentionAlone) {
  const result::Prediction p = predict(arithmetic([](spec::Job& j) {
    j.strategy.attention_kernel.reset();
    j.uncertainty.assumed_attention = 0.5;
  }));
  EXPECT_NEAR(cause(p, "assumed attention kernel").slower, 0.04 * 0.5, 1e-5);
}

TEST(Interval, NormsByTheOperationThatNobodyAskedForMayBeOneKernel) {
  const auto assumed = [](bool fused, bool written) {
    return predict(arithmetic([&](spec::Job& j) {
      j.model.norm = spec::Norm::rmsnorm;
      j.framework.fused.norm = fused;
      if (written) j.strategy.fused_kernels.norm = fused;
      j.cluster.node.gpu.hbm = base::GBps(1000);  // arithmetic() has no memory-bound time
      j.uncertainty.assumed_norm = 0.45;
    }));
  };
  const result::Prediction p = assumed(false, false);
  EXPECT_GT(cause(p, "norms by the operation assumed").share, 0.01);
  EXPECT_DOUBLE_EQ(cause(p, "norms by the operation assumed").faster,
                   0.45 * cause(p, "norms by the operation assumed").share);
  EXPECT_EQ(cause(p, "norms by the operation assumed").slower, 0);
  EXPECT_FALSE(has(assumed(false, true), "norms by the operation assumed"));
  EXPECT_FALSE(has(assumed(true, false), "norms by the operation assumed"));
}

TEST(Interval, AClockThatSourcesDisagreeAboutActsOnMatmulsAndAttentionTogether) {
  // All of the toy's busy time is theirs, 0.96 and 0.04.
  const result::Prediction p =
      predict(arithmetic([](spec::Job& j) { j.cluster.node.calibration.power.residual = 0.09; }));
  EXPECT_NEAR(cause(p, "sustained clock").share, 1, 1e-5);
  EXPECT_NEAR(cause(p, "sustained clock").slower, 0.09, 1e-6);
  EXPECT_NEAR(cause(p, "sustained clock").faster, 0.09, 1e-6);
  EXPECT_FALSE(has(predict(arithmetic([](spec::Job&) {})), "sustained clock"));  // one source, or none
}

TEST(Interval, ShapesOutsideTheFitCountTwice) {
  // Every matmul of the toy has 128 tokens on one side; curves are fitted to 256 and more.
  const double within = cause(predict(arithmetic([](spec::Job&) {})), "matmul bf16").slower;
  const result::Prediction p = predict(arithmetic([](spec::Job& j) { j.uncertainty.outside_fit = 2; }));
  EXPECT_DOUBLE_EQ(cause(p, "matmul bf16").slower, 2 * within);
}

TEST(Interval, AKernelThatWasMeasuredIsSurerThanOneThatWasNot) {
  const auto curve = [](double residual) {
    return predict(arithmetic([&](spec::Job& j) {
      j.cluster.node.calibration.matmul[static_cast<int>(spec::Dtype::bf16)] = {
          .ceiling = 1, .overhead = {}, .from = {.measured = true, .source = "test", .residual = residual}};
    }));
  };
  EXPECT_LT(width(curve(0.05)), width(curve(0.2)));
  EXPECT_LT(width(curve(0.2)), width(predict(arithmetic([](spec::Job&) {}))));  // the data sheet: 0.35
}

TEST(Interval, BubblesStretchAsTheRestDoes) {
  // What is busy is all that has shares, however long stages wait for one another.
  for (const int microbatches : {1, 8}) {
    const result::Prediction p = predict(toy::job({.pp = 4, .microbatches = microbatches}));
    double shares = 0;
    for (const IntervalContribution& c : p.interval_contributions) shares += c.share;
    EXPECT_GT(p.bubble_fraction, 0.1);
    EXPECT_GT(shares, 0.9);
    EXPECT_LT(shares, 1 + 1e-9);  // links of the toy have no residual, so they are no causes
  }
}

TEST(Interval, HoldsThePredictionWhateverTheJob) {
  random_jobs::Source source(31);
  for (int n = 0; n < 60; ++n) {
    spec::Job job = source.job();
    job.uncertainty = full();
    const result::Prediction p = predict(job);
    EXPECT_GT(p.step_time_low_s, 0);
    EXPECT_LT(p.step_time_low_s, p.step_time_s);
    EXPECT_GT(p.step_time_high_s, p.step_time_s);
    double busy = 0;
    for (const IntervalContribution& c : p.interval_contributions) {
      EXPECT_GE(c.faster, 0) << c.cause;
      EXPECT_GE(c.slower, 0) << c.cause;
      EXPECT_LE(c.share, 1 + 1e-9) << c.cause;
      busy += c.share < 1 && c.cause != "assumed attention kernel" ? c.share : 0;
    }
    EXPECT_LE(busy, 1 + 1e-9);
    EXPECT_TRUE(std::is_sorted(p.interval_contributions.begin(), p.interval_contributions.end(), [](auto& a, auto& b) {
      return std::max(a.faster, a.slower) > std::max(b.faster, b.slower);
    }));
  }
}

TEST(Interval, NoConstantNarrowsIt) {
  random_jobs::Source source(32);
  for (int n = 0; n < 10; ++n) {
    spec::Job job = source.job();
    job.uncertainty = full();
    const double before = width(predict(job));
    using U = spec::Uncertainty;
    for (double U::*constant : {&U::repeat, &U::host, &U::interference, &U::copies, &U::assumed_attention,
                                &U::assumed_norm, &U::assumed_option, &U::outside_fit}) {
      spec::Job other = job;
      other.uncertainty.*constant *= 2;
      EXPECT_GE(width(predict(other)), before);
    }
    job.uncertainty.stack.slower *= 2;
    EXPECT_GT(width(predict(job)), before);
  }
}

TEST(Interval, PartsThatAreSeldomPublishedAreNamed) {
  const auto with = [](const toy::Cut& cut, auto change) {
    return predict(toy::job(cut, [&](spec::Job& j) {
      j.uncertainty = full();
      change(j);
    }));
  };
  EXPECT_TRUE(has(with({.dp = 2, .zero = 3}, [](spec::Job&) {}), "steps with zero3"));
  EXPECT_FALSE(has(with({.dp = 2, .zero = 1}, [](spec::Job&) {}), "steps with zero3"));
  EXPECT_FALSE(has(with({.tp = 2, .zero = 3}, [](spec::Job&) {}), "steps with zero3"));  // a lone rank shards nothing
  EXPECT_FALSE(
      has(with({.zero = 3}, [](spec::Job& j) { j.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 512}; }),
          "steps with zero3"));
  EXPECT_FALSE(has(with({.zero = 3}, [](spec::Job& j) { j.strategy.offload.optimizer = spec::Offload::To::cpu; }),
                   "steps with zero3"));
  const result::Prediction served =
      with({.tp = 2, .micro_batch = 16}, [](spec::Job& j) { j.training.mode = spec::Mode::decode; });
  EXPECT_TRUE(has(served, "steps with serving"));
  EXPECT_LT(served.step_time_low_s, served.step_time_s);
}

TEST(Interval, AMixedClusterTakesTheKindThatSetsThePace) {
  // Half of the nodes have half of the speed and a curve that is twice as unsure: the step is theirs.
  const auto curve = [](double residual) {
    return spec::MatmulCurve{
        .ceiling = 1, .overhead = {}, .from = {.measured = true, .source = "test", .residual = residual}};
  };
  constexpr int bf16 = static_cast<int>(spec::Dtype::bf16);
  const result::Prediction p = predict(toy::job({.dp = 16}, [&](spec::Job& j) {
    spec::Node fast = j.cluster.node, slow = j.cluster.node;
    fast.calibration.matmul[bf16] = curve(0.1);
    slow.calibration.matmul[bf16] = curve(0.2);
    for (base::FlopRate& peak : slow.gpu.peak) peak = peak / 2;
    j.cluster.groups = {{fast, 1}, {slow, 1}};
    j.cluster.node = slow;
    j.uncertainty = full();
    j.uncertainty.outside_fit = 1;
  }));
  const IntervalContribution& matmuls = cause(p, "matmul bf16");
  EXPECT_DOUBLE_EQ(matmuls.slower, matmuls.share * 0.2);
  EXPECT_TRUE(has(p, "steps with mixed cluster"));
}

}  // namespace
