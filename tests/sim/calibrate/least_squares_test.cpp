// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/least_squares.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace {

/// Rows of t = overhead + x / rate at x = 1, 2, 4 ... 2^19, each off by what `error` says (of the logarithm).
struct Line {
  std::vector<double> x, t;
  template <class Error>
  Line(double overhead, double rate, Error error) {
    for (int i = 0; i < 20; ++i) {
      x.push_back(std::ldexp(1, i));
      t.push_back((overhead + x.back() / rate) * std::exp(error(i)));
    }
  }
  sim::LeastSquares problem() const {
    return {{{"overhead", 1, 1e-3, 1e6}, {"rate", 1, 1e-3, 1e6}}, {}, [this](const std::vector<double>& at) {
              std::vector<double> errors;
              for (std::size_t i = 0; i < x.size(); ++i) errors.push_back(std::log((at[0] + x[i] / at[1]) / t[i]));
              return errors;
            }};
  }
};

TEST(LeastSquares, FindsTheConstantsThatMadeTheRows) {
  const Line line(30, 7, [](int) { return 0.0; });
  const sim::Minimum found = sim::minimise(line.problem());
  EXPECT_NEAR(found.values[0], 30, 1e-6);
  EXPECT_NEAR(found.values[1], 7, 1e-6);
  EXPECT_LT(found.loss, 1e-12);
}

TEST(LeastSquares, NoiseMovesThemByAboutItsShareOverTheRootOfTheRows) {
  // 20 rows off by 3 % each tell each of two constants to about 3 % / sqrt(10) = 1 %; three times that is allowed.
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 0.03);
  const Line line(30, 7, [&](int) { return noise(random); });
  const sim::Minimum found = sim::minimise(line.problem());
  EXPECT_NEAR(found.values[0] / 30, 1, 0.03);
  EXPECT_NEAR(found.values[1] / 7, 1, 0.03);
}

TEST(LeastSquares, ARowTenTimesOffPullsNoMoreThanOneThatIsALittleOff) {
  // Squares would move the rate by about log(10) / 14 rows = 16 %. Huber's force ends at 0.1: below 1 %.
  const Line line(30, 7, [](int i) { return i == 17 ? std::log(10.0) : 0.0; });
  EXPECT_NEAR(sim::minimise(line.problem()).values[1] / 7, 1, 0.015);
}

TEST(LeastSquares, AnUnknownThatWouldLeaveItsBoundsRestsThere) {
  const Line line(30, 7, [](int) { return 0.0; });
  sim::LeastSquares problem = line.problem();
  problem.unknowns[1].most = 5;
  const sim::Minimum found = sim::minimise(problem);
  EXPECT_DOUBLE_EQ(found.values[1], 5);
  EXPECT_TRUE(found.at_bound(problem, 1));
  EXPECT_FALSE(found.at_bound(problem, 0));
}

TEST(LeastSquares, TheLossIsASquareUpTo01AndStraightBeyond) {
  EXPECT_DOUBLE_EQ(sim::robust_loss({0.1}, {}), 0.01);
  EXPECT_DOUBLE_EQ(sim::robust_loss({-0.3}, {}), 0.1 * (0.6 - 0.1));
  EXPECT_DOUBLE_EQ(sim::robust_loss({0.1, 0.1}, {2, 0.5}), 0.025);
}

}  // namespace
