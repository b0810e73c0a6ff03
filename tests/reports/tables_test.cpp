// tests/reports/tables_test.cpp -- the text views of imports, fits, groups and trainings, word for word.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reports/collectives.h"
#include "reports/interval_fit.h"
#include "reports/network_import.h"
#include "reports/training_run.h"
#include "tests/reports/view.h"

namespace {

using testing_support::expect_view;

TEST(CollectivesText, TellsRowsAndErrorsOfEachGroup) {
  result::CollectiveValidation v;
  v.sweeps = {
      {.file = "dgx.yaml",
       .op = "all_reduce",
       .node = "dgx-h100",
       .fabric = "rail-400g",
       .nodes = 4,
       .gpus = 8,
       .cases = {{1 << 20, 1e-4, 1.1e-4, -0.09, "ring", "Simple"}, {1 << 30, 6e-3, 5.8e-3, 0.034, "nvls", "Simple"}}}};
  v.groups = {{"dgx-h100", "all_reduce", 4, {1, 0.05, -0.05}, {2, 0.062, -0.028}}};
  v.small = v.groups[0].small;
  v.large = v.groups[0].large;
  expect_view("collectives.txt", [&](const reports::Style& s) { return reports::collectives_text(v, s); });
}

TEST(IntervalFitText, TellsSpreadsAndFiles) {
  const result::IntervalFit fit{
      .spreads = {{"software stack", 12, 400, 0, 0.136}, {"steps with experts", 4, 51, 0.18, 0.18}},
      .files = {{"validation/published/nemo.yaml", 28, 0.61, 0.54}, {"validation/published/megascale.yaml", 4, 1, 1}},
      .with = 0.86,
      .without = 0.815};
  expect_view("interval_fit.txt", [&](const reports::Style& s) { return reports::interval_fit_text(fit, s); });
}

TEST(IntervalFitText, HasNoMeanWhereNoFileHasRowsEnough) {
  const result::IntervalFit fit{.spreads = {}, .files = {{"few.yaml", 4, 1, 1}}, .with = {}, .without = {}};
  const std::string text = reports::interval_fit_text(fit);
  const std::string mean = text.substr(text.find("mean of files of at least 5 rows"));
  EXPECT_EQ(mean.find('%'), mean.npos) << text;
  EXPECT_TRUE(mean.ends_with("-            -\n") || mean.ends_with(" -           -\n")) << text;
}

TEST(NetworkImportText, TellsWhatWasFittedGuessedAndLeftOut) {
  const result::NetworkImport found{.path = "links of dgx-h100",
                                    .base = "nvlink4",
                                    .fitted = {{"all_reduce", 27, 8, 8'589'934'592, 8, 8, 0.042, 0.031}},
                                    .guessed = {"all_gather", "all_to_all"},
                                    .warnings = {"reduce_perf.log: reduce has no price here"}};
  expect_view("network_import.txt", [&](const reports::Style& s) { return reports::network_import_text(found, s); });
}

TEST(TrainingRunText, TellsLossesAndNormsOfEachStep) {
  const result::TrainingRun run{.model = "tiny llama",
                                .backend = "cpu",
                                .tokens = "synthetic",
                                .ranks = 4,
                                .parameters = 7360,
                                .steps = {{3.4657, 1.25}, {3.4021, 1.125}, {3.3398, {}}}};
  expect_view("training_run.txt", [&](const reports::Style& s) { return reports::training_run_text(run, s); });
}

}  // namespace
