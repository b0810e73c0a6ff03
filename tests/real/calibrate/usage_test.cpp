// tests/real/calibrate/usage_test.cpp -- tests real/calibrate/usage.h on a Plan made by hand.
// SPDX-License-Identifier: Apache-2.0
#include "real/calibrate/usage.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "real/calibrate/cost.h"

namespace {

/// One role that calls a segment of these works so often, each work once a call.
plan::Plan plan_of(const std::vector<plan::Work>& works, int calls) {
  plan::Plan out;
  out.works = works;
  plan::Segment& segment = out.segments.emplace_back();
  for (std::size_t i = 0; i < works.size(); ++i) {
    plan::Operator op;
    op.work = static_cast<std::int32_t>(i);
    segment.operators.push_back(op);
  }
  out.roles.emplace_back().calls.resize(static_cast<std::size_t>(calls));
  return out;
}

const plan::Matmul kMatmul{.m = 4096, .n = 1024, .k = 512};

TEST(CalibrationUsage, SharesAreOfTheTimeOfAllThatCanBeTimed) {
  const plan::Attention attention{.batch = 1, .q_len = 512, .kv_len = 512, .heads = 8, .kv_heads = 8, .head_dim = 64};
  plan::Plan plan = plan_of({kMatmul, attention}, 3);
  plan.segments[0].operators.push_back(plan.segments[0].operators[0]);  // the matmul twice
  const auto used = real::usage_of(plan);
  ASSERT_EQ(used.size(), 2u);
  const double matmul = 6 * real::repetition(used[0].shape).si(), other = 3 * real::repetition(used[1].shape).si();
  EXPECT_DOUBLE_EQ(used[0].share, matmul / (matmul + other));
  EXPECT_DOUBLE_EQ(used[1].share, other / (matmul + other));
}

TEST(CalibrationUsage, WhatNoPointCanTimeIsLeftOut) {
  plan::Matmul added = kMatmul, batched = kMatmul, thin = kMatmul;
  added.grouped = added.accumulates = true;  // no library has it as one kernel
  batched.batch = 8;
  thin.n = 255;  // 256 is the least side that fits take
  plan::Attention window{.batch = 1, .q_len = 512, .kv_len = 512, .heads = 8, .kv_heads = 8, .head_dim = 64};
  window.window = 128;
  const plan::MemoryBound small{plan::MemoryBound::Kind::norm, real::kSmallestMemory - 2, 1, 1};
  const auto used = real::usage_of(plan_of({added, batched, thin, window, small, plan::HostSync{}, kMatmul}, 1));
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(std::get<config::MatmulRow>(used[0].shape).m, 4096);
  EXPECT_EQ(used[0].share, 1);
}

TEST(CalibrationUsage, MatmulsOfExpertsAreTimedTogetherHoweverFewRowsEachHas) {
  plan::Matmul experts = kMatmul, alone = kMatmul;
  experts.m = alone.m = 64;
  experts.batch = 8;
  experts.grouped = true;
  const auto used = real::usage_of(plan_of({experts, alone}, 1));  // alone its side is below the 256 of fits
  ASSERT_EQ(used.size(), 1u);
  const auto row = std::get<config::MatmulRow>(used[0].shape);
  EXPECT_TRUE(row.grouped);
  EXPECT_EQ(row.batch, 8);
  EXPECT_EQ(row.m, 64);
}

TEST(CalibrationUsage, ModelsOfExpertsUseGroupedMatmuls) {
  const auto used = real::usage_of_models(config::Catalogue(FORERUN_SOURCE_DIR), {"mixtral-8x7b"});
  const auto grouped = [](const real::Used& one) {
    const auto* row = std::get_if<config::MatmulRow>(&one.shape);
    return row != nullptr && row->grouped;
  };
  EXPECT_TRUE(std::any_of(used.begin(), used.end(), grouped));
}

TEST(CalibrationUsage, SoftmaxOfScoresThatAreWrittenIsTimed) {
  const plan::MemoryBound softmax{plan::MemoryBound::Kind::softmax, real::kSmallestMemory, real::kSmallestMemory, 1};
  const auto used = real::usage_of(plan_of({softmax}, 1));
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(std::get<real::MemoryOperator>(used[0].shape).what, real::MemoryOperator::What::softmax);
}

TEST(CalibrationUsage, MemoryBoundWorksBecomeOperatorsOfTheNextPowerOfTwo) {
  // A norm moves 8 bytes a number, 32 KiB a row of 4,096: 200 MiB are 6,400 rows, the next power of two is 8,192.
  const plan::MemoryBound norm{plan::MemoryBound::Kind::norm, std::int64_t{120} << 20, std::int64_t{80} << 20, 1};
  const auto used = real::usage_of(plan_of({norm}, 1));
  ASSERT_EQ(used.size(), 1u);
  const auto op = std::get<real::MemoryOperator>(used[0].shape);
  EXPECT_EQ(op.what, real::MemoryOperator::What::norm_forward);
  EXPECT_EQ(op.rows, 8192);
  EXPECT_EQ(op.width, 4096);
}

TEST(CalibrationUsage, AModelThatCannotBeCutSoIsPassedOver) {
  // GPT-2 XL has 25 heads: neither 2, 4 nor 8 ranks divide them, so that a quarter of its weight is told.
  const auto used = real::usage_of_models(config::Catalogue(FORERUN_SOURCE_DIR), {"gpt2-xl"});
  double sum = 0;
  for (const real::Used& one : used) sum += one.share;
  EXPECT_NEAR(sum, 0.25, 1e-9);
}

}  // namespace
