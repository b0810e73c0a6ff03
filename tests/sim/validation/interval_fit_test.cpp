// tests/sim/validation/interval_fit_test.cpp -- the interval's constants from steps made up so that they can be seen.
// SPDX-License-Identifier: Apache-2.0
#include "sim/validation/interval_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

namespace {

using result::FittedSpread;
using sim::MeasuredStep;

constexpr double kTenth = 1.2815515655446004;

const FittedSpread& spread(const std::vector<FittedSpread>& all, const std::string& cause) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.cause == cause; });
  if (at == all.end()) throw std::logic_error("no " + cause);
  return *at;
}

TEST(IntervalFit, RowsOfOneSourceTellWhatIsUnmodelled) {
  // Eleven errors around 0, from -0.5 to 0.5: one row, less than a tenth plus a row, may lie beyond; 0.4 may not.
  std::vector<MeasuredStep> rows;
  for (int i = -5; i <= 5; ++i) rows.push_back({.source = 0, .error = 0.1 * i});
  const auto found = sim::fit_spreads(rows);
  EXPECT_NEAR(spread(found, "what is not modelled").slower, 0.4 / kTenth, 1e-12);
  EXPECT_NEAR(spread(found, "what is not modelled").faster, 0.4 / kTenth, 1e-12);
  EXPECT_EQ(spread(found, "software stack").slower, 0);
}

TEST(IntervalFit, SourcesThatAreOffAsAWholeTellTheStack) {
  // No spread inside a source; one of two is slower by 0.2, which is more than a tenth of the weight.
  std::vector<MeasuredStep> rows;
  for (int i = 0; i < 11; ++i) rows.push_back({.source = 0, .error = 0.2});
  for (int i = 0; i < 500; ++i) rows.push_back({.source = 1, .error = 0});  // weighs no more than the eleven
  const auto found = sim::fit_spreads(rows);
  EXPECT_EQ(spread(found, "what is not modelled").slower, 0);
  EXPECT_NEAR(spread(found, "software stack").slower, 0.2 / kTenth, 1e-12);
  EXPECT_EQ(spread(found, "software stack").faster, 0);
}

TEST(IntervalFit, WhatCurvesExplainIsLeftToThem) {
  // (0.5 / z)^2 is needed; the curves have (0.3 / z)^2, so (0.4 / z)^2 is left.
  const double curves = 0.3 * 0.3 / (kTenth * kTenth);
  std::vector<MeasuredStep> rows;
  for (int i = 0; i < 11; ++i) rows.push_back({.source = 0, .error = 0.5, .faster = curves, .slower = curves});
  EXPECT_NEAR(spread(sim::fit_spreads(rows), "software stack").slower, 0.4 / kTenth, 1e-12);
}

TEST(IntervalFit, AScarcePartIsFoundFromItsOwnRows) {
  std::vector<MeasuredStep> rows;
  for (int i = 0; i < 11; ++i) {
    rows.push_back({.source = 0, .error = 0});
    rows.push_back({.source = 1, .error = -0.3, .scarce = {"steps with zero3"}});
  }
  const auto found = sim::fit_spreads(rows);
  EXPECT_NEAR(spread(found, "steps with zero3").faster, 0.3 / kTenth, 1e-12);
  EXPECT_EQ(spread(found, "steps with zero3").rows, 11);
  EXPECT_EQ(spread(found, "software stack").rows, 11);
  EXPECT_EQ(spread(found, "software stack").faster, 0);
}

TEST(IntervalFit, FourFifthsOfNormalErrorsFallInsideAlsoWithoutTheirOwnSource) {
  // 30 sources of 40 rows: a shift of each source (0.1) and one of each row (0.05), drawn from a fixed seed.
  std::mt19937 random(7);
  std::normal_distribution<double> shift(0, 0.1), noise(0, 0.05);
  std::vector<result::ValidationFile> files(30);
  for (result::ValidationFile& file : files) {
    const double stack = shift(random);
    for (int i = 0; i < 40; ++i) {
      result::ValidationCase& row = file.cases.emplace_back();
      row.predicted_s = 1;
      row.measured_s = std::exp(stack + noise(random));
      row.error = *row.predicted_s / *row.measured_s - 1;
    }
  }
  const result::IntervalFit fit = sim::fit_interval(files);
  EXPECT_EQ(fit.files.size(), 30u);
  EXPECT_NEAR(spread(fit.spreads, "what is not modelled").slower, 0.05, 0.005);
  EXPECT_NEAR(fit.with.value(), 0.8, 0.02);
  EXPECT_NEAR(fit.without.value(), 0.8, 0.05);
}

}  // namespace
