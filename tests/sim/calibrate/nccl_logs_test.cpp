// tests/sim/calibrate/nccl_logs_test.cpp -- logs synthesised from a known curve with noise give the curve back.
// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/nccl_logs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/base/fault.h"
#include "sim/network/closed_form.h"
#include "sim/network/collective_table.h"

namespace {

using base::GBps;
using base::us;

spec::PathCurve curve(double efficiency, double latency, double ramp, double ll, double ll_latency) {
  spec::PathCurve c;
  c.efficiency = efficiency;
  c.latency = us(latency);
  c.hop = us(1);
  c.ramp = base::Bytes(ramp);
  c.low_latency = {ll, us(ll_latency), us(0.5)};
  return c;
}

spec::Cluster node(const spec::PathCurve& links) {
  spec::Cluster c;
  c.node.name = "toy";
  c.node.gpus = 8;
  c.node.nvlink = {GBps(450), 8, spec::Switch::nvswitch, false};
  c.node.nic = {GBps(50), 8, spec::NicKind::infiniband};
  for (spec::NetworkCalibration* path : {&c.node.links, &c.fabric.calibration}) {
    path->all_reduce = path->all_gather = path->reduce_scatter = path->all_to_all = path->send = links;
  }
  return c;
}

config::NcclLog log_of(const spec::Cluster& truth, plan::CollectiveKind kind, double noise, std::mt19937& random) {
  std::normal_distribution<double> spread(0, noise);
  config::NcclLog log{.file = "toy.log",
                      .test = std::string(sim::name(kind)),
                      .op = std::string(sim::name(kind)),
                      .version = "",
                      .ranks = 8 * truth.nodes,
                      .hosts = truth.nodes,
                      .rows = {},
                      .notes = {}};
  const plan::GroupShape group = sim::group_of_nodes(truth, 8);
  for (std::int64_t bytes = 1024; bytes <= std::int64_t{8} << 30; bytes *= 2) {
    const double time = sim::price(plan::Collective{kind, bytes, group}, truth).time.si();
    log.rows.push_back({bytes, base::Seconds(time * std::exp(spread(random))), {}});
  }
  return log;
}

TEST(Calibrate, GivesAKnownCurveBackThroughNoise) {
  // 24 sizes with 3 % of noise: what large sizes tell (efficiency) comes back within 3 %, prices at every size within
  // 5 %. The ramp matters to a few sizes by a few per cent and is lost in such noise.
  std::mt19937 random(7);
  for (int round = 0; round < 5; ++round) {
    const spec::Cluster truth = node(curve(0.62, 25, 400e3, 0.3, 9));
    const auto log = log_of(truth, plan::CollectiveKind::all_gather, 0.03, random);
    const sim::CalibratedNetwork found = sim::calibrate({log}, node(curve(0.8, 12, 100e3, 0.2, 5)), false, 8);
    EXPECT_FALSE(found.fabric);
    const spec::PathCurve& c = found.calibration.all_gather;
    EXPECT_NEAR(c.efficiency, 0.62, 0.03 * 0.62);
    EXPECT_TRUE(c.measured);
    EXPECT_LT(c.residual, 0.05);
    EXPECT_EQ(c.covered.rows, 24);
    EXPECT_DOUBLE_EQ(c.covered.from.si(), 1024);
    EXPECT_EQ(c.covered.most_ranks, 8);
    spec::Cluster again = truth;
    again.node.links = found.calibration;
    for (const config::NcclRow& row : log.rows) {
      const plan::Collective work{plan::CollectiveKind::all_gather, row.bytes, {8, 8, 1, 1}};
      EXPECT_NEAR(sim::price(work, again).time / sim::price(work, truth).time, 1, 0.05) << row.bytes;
    }
  }
}

TEST(Calibrate, WhatNoLogHasStaysAndIsMarkedAsAGuess) {
  std::mt19937 random(1);
  const spec::Cluster start = node(curve(0.8, 12, 100e3, 0.2, 5));
  const auto found = sim::calibrate({log_of(start, plan::CollectiveKind::all_reduce, 0.01, random)}, start, false, 8);
  EXPECT_TRUE(found.calibration.all_reduce.measured);
  EXPECT_FALSE(found.calibration.send.measured);
  EXPECT_DOUBLE_EQ(found.calibration.send.efficiency, 0.8);
  EXPECT_GE(found.calibration.send.residual, 0.3);
  EXPECT_EQ(found.report.guessed, (std::vector<std::string>{"all_gather", "reduce_scatter", "all_to_all", "send"}));
}

TEST(Calibrate, LogsOfSeveralNodesAreOfTheFabric) {
  std::mt19937 random(2);
  spec::Cluster truth = node(curve(0.7, 12, 100e3, 0.2, 5));
  truth.nodes = 4;
  truth.fabric.calibration.all_gather.efficiency = 0.5;
  const auto log = log_of(truth, plan::CollectiveKind::all_gather, 0.02, random);
  const auto found = sim::calibrate({log}, node(curve(0.7, 12, 100e3, 0.2, 5)), false, 8);
  EXPECT_TRUE(found.fabric);
  EXPECT_NEAR(found.calibration.all_gather.efficiency, 0.5, 0.02);
}

TEST(Calibrate, RefusesRanksThatTheClusterDoesNotHaveAndMixedPaths) {
  std::mt19937 random(3);
  spec::Cluster two = node(curve(0.8, 12, 100e3, 0.2, 5));
  two.nodes = 2;
  const auto wide = log_of(two, plan::CollectiveKind::all_reduce, 0.01, random);
  const spec::Cluster one = node(curve(0.8, 12, 100e3, 0.2, 5));
  EXPECT_THROW(sim::calibrate({wide}, one, true, 8), base::InputError);
  const auto narrow = log_of(one, plan::CollectiveKind::all_reduce, 0.01, random);
  EXPECT_THROW(sim::calibrate({narrow, wide}, one, false, 8), base::InputError);
  EXPECT_THROW(sim::calibrate({}, one, false, 8), base::InputError);
}

}  // namespace
