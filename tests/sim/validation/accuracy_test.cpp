// SPDX-License-Identifier: Apache-2.0
#include "sim/validation/accuracy.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using result::ValidationCase;
using result::ValidationFile;

/// A step measured at 100 s whose prediction is off by `error`.
ValidationCase off_by(double error) {
  ValidationCase row;
  row.measured_s = 100;
  row.predicted_s = 100 * (1 + error);
  row.error = error;
  row.inside = error > -0.15 && error < 0.15;
  row.fits = true;
  return row;
}

ValidationCase refused() {
  ValidationCase row;
  row.measured_s = 100;
  row.error_message = "error: strategy.cp: 2 is not supported";
  return row;
}

/// Measured and predicted to fit or not; not timed.
ValidationCase fitting(bool measured, bool predicted) {
  ValidationCase row;
  row.measured_fits = measured;
  row.fits = predicted;
  return row;
}

ValidationCase memory_off_by(double error) {
  ValidationCase row;
  row.measured_bytes = 1000;
  row.memory_error = error;
  row.fits = true;
  return row;
}

result::ValidationSummary summary(const std::vector<ValidationCase>& cases) {
  sim::Rows rows;
  for (const ValidationCase& row : cases) rows.push_back(&row);
  return sim::summary_of(rows);
}

ValidationFile file_of(std::vector<ValidationCase> cases) {
  ValidationFile file;
  file.cases = std::move(cases);
  file.summary = sim::summary_of(sim::rows_of({file}));
  return file;
}

TEST(Accuracy, OfFourRowsByHand) {
  const auto s = summary({off_by(0.10), off_by(-0.05), refused(), off_by(0.20), off_by(-0.01)});
  EXPECT_EQ(s.rows, 4);  // the refused one has no error
  EXPECT_EQ(s.refused, 1);
  EXPECT_DOUBLE_EQ(*s.mape, 0.09);               // (0.10 + 0.05 + 0.20 + 0.01) / 4
  EXPECT_DOUBLE_EQ(*s.median_abs_error, 0.075);  // of 0.01 0.05 0.10 0.20: halfway between the middle two
  EXPECT_DOUBLE_EQ(*s.mean_signed_error, 0.06);  // (0.10 - 0.05 + 0.20 - 0.01) / 4
  EXPECT_DOUBLE_EQ(*s.p90_abs_error, 0.17);      // at 0.9 x 3 = 2.7: 0.10 + 0.7 x (0.20 - 0.10)
  EXPECT_DOUBLE_EQ(*s.coverage_80, 0.75);        // all but 0.20
}

TEST(Accuracy, OfNoRowsIsEmptyNotZero) {
  const auto s = summary({refused()});
  EXPECT_EQ(s.rows, 0);
  EXPECT_EQ(s.refused, 1);
  for (const auto& figure : {s.mape, s.median_abs_error, s.mean_signed_error, s.p90_abs_error, s.coverage_80,
                             s.memory_mape, s.fits_right, s.kendall_tau}) {
    EXPECT_FALSE(figure);
  }
}

TEST(Accuracy, OfMemoryIsItsMeanMagnitude) {
  const auto s = summary({memory_off_by(0.02), memory_off_by(-0.06), off_by(0.5)});
  EXPECT_EQ(s.memory_rows, 2);
  EXPECT_DOUBLE_EQ(*s.memory_mape, 0.04);  // (0.02 + 0.06) / 2
  EXPECT_EQ(s.rows, 1);
}

TEST(Accuracy, OfFittingCountsBothMistakes) {
  ValidationCase too_large = off_by(0);  // it ran, so it fitted, whatever we say
  too_large.fits = false;
  const auto s = summary({fitting(false, false), fitting(false, true), fitting(true, true), fitting(true, false),
                          too_large, off_by(0), refused()});
  EXPECT_EQ(s.fits_rows, 6);       // all but the refused one
  EXPECT_EQ(s.missed_misfits, 1);  // the second
  EXPECT_EQ(s.false_misfits, 2);   // the fourth and the fifth
  EXPECT_DOUBLE_EQ(*s.fits_right, 0.5);
  EXPECT_EQ(s.rows, 2);  // those that only fit or do not have no error
}

TEST(Accuracy, TheMacroCountsFilesNotRows) {
  // Six rows off by 0.1 and five off by -0.3: 0.2 and -0.1. A file of four rows, off by 9, is left out.
  const std::vector<ValidationFile> files{file_of({6, off_by(0.1)}), file_of({5, off_by(-0.3)}),
                                          file_of({4, off_by(9)})};
  const auto macro = sim::macro_of(files);
  EXPECT_EQ(macro.files, 2);
  EXPECT_DOUBLE_EQ(*macro.median_abs_error, 0.2);
  EXPECT_DOUBLE_EQ(*macro.mape, 0.2);
  EXPECT_NEAR(*macro.mean_signed_error, -0.1, 1e-12);
  EXPECT_DOUBLE_EQ(*macro.coverage_80, 0.5);  // all of the first, none of the second
  EXPECT_FALSE(macro.memory_mape);
}

TEST(Accuracy, TheMacroOfSmallFilesIsEmpty) {
  const auto macro = sim::macro_of({file_of({4, off_by(0.1)})});
  EXPECT_EQ(macro.files, 0);
  EXPECT_FALSE(macro.median_abs_error);
}

TEST(Quantile, LiesBetweenTwoValues) {
  EXPECT_EQ(sim::quantile({7}, 0.9), 7);
  EXPECT_EQ(sim::quantile({3, 1, 2}, 0), 1);
  EXPECT_EQ(sim::quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(sim::quantile({3, 1, 2}, 0.75), 2.5);  // at 1.5
  EXPECT_EQ(sim::quantile({3, 1, 2}, 1), 3);
}

TEST(KendallTau, ByHand) {
  EXPECT_EQ(sim::kendall_tau({{1, 10}, {2, 20}, {3, 30}}), 1);
  EXPECT_EQ(sim::kendall_tau({{1, 30}, {2, 20}, {3, 10}}), -1);
  // Pairs of (1 1) (2 3) (3 2) (4 4): five agree, one (2 3 against 3 2) does not: 4 / 6.
  EXPECT_DOUBLE_EQ(sim::kendall_tau({{1, 1}, {2, 3}, {3, 2}, {4, 4}}), 4.0 / 6);
  // One pair of three is tied in x: 2 / sqrt(2 x 3).
  EXPECT_DOUBLE_EQ(sim::kendall_tau({{1, 1}, {1, 2}, {2, 3}}), 2 / std::sqrt(6.0));
  EXPECT_EQ(sim::kendall_tau({{1, 1}, {1, 2}}), 0);  // no order to agree with
}

/// Predicted and measured time of a step of `tokens`.
ValidationCase ranked(const std::string& with, double predicted, double measured, double tokens = 1) {
  ValidationCase row;
  row.ranked_with = with;
  row.predicted_s = predicted;
  row.measured_s = measured;
  row.tokens = tokens;
  return row;
}

TEST(Rankings, NeedFourRowsOfOneModelOnOneCluster) {
  std::vector<ValidationCase> cases{ranked("a", 1, 1), ranked("a", 2, 3), ranked("a", 3, 2), ranked("b", 1, 1)};
  sim::Rows rows;
  for (const auto& row : cases) rows.push_back(&row);
  EXPECT_TRUE(sim::rankings_of(rows).empty());
  const ValidationCase fourth = ranked("a", 4, 4);
  rows.push_back(&fourth);
  const auto rankings = sim::rankings_of(rows);
  ASSERT_EQ(rankings.size(), 1u);
  EXPECT_EQ(rankings[0].of, "a");
  EXPECT_EQ(rankings[0].rows, 4);
  EXPECT_DOUBLE_EQ(rankings[0].kendall_tau, 4.0 / 6);  // as above
}

TEST(Rankings, OrderByTimePerToken) {
  // Twice the batch takes longer and is faster: 10 20 30 and 60 / 8 a token, so measured and predicted agree on the
  // last.
  const auto s = summary({ranked("a", 10, 11), ranked("a", 20, 21), ranked("a", 30, 31), ranked("a", 60, 64, 8)});
  EXPECT_EQ(s.rankings, 1);
  EXPECT_EQ(*s.kendall_tau, 1);
  // Were it by time, 60 before 5 would be an error: (5, 60) a token is (5/8, 60/8), the first in both orders.
  EXPECT_EQ(
      *summary({ranked("a", 10, 11), ranked("a", 20, 21), ranked("a", 30, 31), ranked("a", 5, 60, 8)}).kendall_tau, 1);
}

ValidationCase labelled(double error, const std::string& tp, const std::string& pp) {
  ValidationCase row = off_by(error);
  row.labels = {{"tp", tp}, {"pp", pp}};
  return row;
}

TEST(Grouped, PutsEqualLabelsTogetherTheFarthestOffFirst) {
  const std::vector<ValidationFile> files{
      file_of({labelled(0.1, "16", "1"), labelled(0.2, "2", "1"), refused(), labelled(0.4, "2", "8")})};
  const auto by_tp = sim::grouped(files, "tp");
  ASSERT_EQ(by_tp.groups.size(), 3u);
  EXPECT_EQ(by_tp.groups[0].label, "2");
  EXPECT_DOUBLE_EQ(*by_tp.groups[0].summary.mean_signed_error, 0.3);
  EXPECT_EQ(by_tp.groups[1].label, "16");
  EXPECT_EQ(by_tp.groups[2].label, "?");
  EXPECT_EQ(by_tp.groups[2].summary.refused, 1);
}

TEST(Grouped, ByTwoKeysAtOnce) {
  const std::vector<ValidationFile> files{file_of({labelled(0.1, "2", "1"), labelled(0.2, "2", "8")})};
  const auto both = sim::grouped(files, "tp+pp");
  ASSERT_EQ(both.groups.size(), 2u);
  EXPECT_EQ(both.groups[0].label, "2 + 8");
  EXPECT_EQ(both.groups[1].label, "2 + 1");
}

TEST(Grouped, EquallyFarOnesStandInNumericOrder) {
  const std::vector<ValidationFile> files{
      file_of({labelled(0.125, "16", "1"), labelled(-0.125, "2", "1"), labelled(0.125, "4", "1")})};
  const auto by_tp = sim::grouped(files, "tp");
  ASSERT_EQ(by_tp.groups.size(), 3u);
  EXPECT_EQ(by_tp.groups[0].label, "2");
  EXPECT_EQ(by_tp.groups[1].label, "4");
  EXPECT_EQ(by_tp.groups[2].label, "16");
}

}  // namespace
