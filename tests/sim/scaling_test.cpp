// SPDX-License-Identifier: Apache-2.0
#include "sim/scaling.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using result::ComparisonRow;
using result::ScalingPoint;

/// 0 tokens: refused.
std::vector<ScalingPoint> points(const std::vector<std::pair<int, double>>& tokens_per_gpu) {
  std::vector<ScalingPoint> out;
  for (const auto& [gpus, tokens] : tokens_per_gpu) {
    ScalingPoint& point = out.emplace_back();
    point.gpus = gpus;
    if (tokens == 0) continue;
    point.row.status = ComparisonRow::Status::fits;
    point.row.prediction.tokens_per_s_per_gpu = tokens;
  }
  return out;
}

TEST(Scaling, EfficiencyIsOverTheFewestGpusThatRunIt) {
  const auto curve = sim::scaling_curve(result::ScalingKind::weak, points({{8, 0}, {16, 200}, {32, 150}}), 0.5);
  EXPECT_EQ(curve.reference_gpus, 16);
  EXPECT_EQ(curve.points[0].efficiency, 0);
  EXPECT_EQ(curve.points[1].efficiency, 1);
  EXPECT_EQ(curve.points[2].efficiency, 0.75);
  EXPECT_FALSE(curve.falls);
}

TEST(Scaling, EfficiencyIsOverTheFewestGpusOnWhichItFits) {
  // 8 and 16 are too large, at 60 % of what 32 make of a GPU: no fall, for none of them can be used.
  auto on = points({{8, 100}, {16, 60}, {32, 100}, {64, 90}});
  on[0].row.status = on[1].row.status = ComparisonRow::Status::does_not_fit;
  const auto curve = sim::scaling_curve(result::ScalingKind::strong, on, 0.8);
  EXPECT_EQ(curve.reference_gpus, 32);
  EXPECT_EQ(curve.points[1].efficiency, 0.6);
  EXPECT_EQ(curve.points[2].efficiency, 1);
  EXPECT_FALSE(curve.falls);
}

TEST(Scaling, WhereItFitsOnNoneEfficiencyIsOverTheFewestThatRunIt) {
  auto on = points({{8, 0}, {16, 100}, {32, 50}});
  on[1].row.status = on[2].row.status = ComparisonRow::Status::does_not_fit;
  const auto curve = sim::scaling_curve(result::ScalingKind::strong, on, 0.8);
  EXPECT_EQ(curve.reference_gpus, 16);
  EXPECT_EQ(curve.points[2].efficiency, 0.5);
  EXPECT_TRUE(curve.falls);
}

TEST(Scaling, TheFallLiesOnALineOverTheLogarithmOfTheGpus) {
  // From 0.9 at 64 to 0.7 at 256, half way down at 0.8: the geometric mean, 128. The refused point is passed over.
  const auto curve =
      sim::scaling_curve(result::ScalingKind::strong, points({{8, 100}, {64, 90}, {100, 0}, {256, 70}}), 0.8);
  ASSERT_TRUE(curve.falls);
  EXPECT_EQ(curve.falls->above, 64);
  EXPECT_EQ(curve.falls->below, 256);
  EXPECT_NEAR(curve.falls->gpus, 128, 1e-9);
}

TEST(Scaling, OnlyTheFirstFallIsTold) {
  const auto curve =
      sim::scaling_curve(result::ScalingKind::strong, points({{1, 100}, {2, 60}, {4, 90}, {8, 50}}), 0.8);
  ASSERT_TRUE(curve.falls);
  EXPECT_EQ(curve.falls->below, 2);
}

TEST(Scaling, WhatNoNumberOfGpusRunsHasNoReference) {
  EXPECT_EQ(sim::scaling_curve(result::ScalingKind::weak, points({{8, 0}, {16, 0}}), 0.8).reference_gpus, 0);
}

}  // namespace
