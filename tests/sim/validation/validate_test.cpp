// SPDX-License-Identifier: Apache-2.0
#include "sim/validation/validate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/predict.h"
#include "sim/validation/accuracy.h"
#include "tests/support/toy.h"

namespace {

using config::Case;
using config::CaseFile;
using result::ValidationCase;

/// Of its memory each tool counts more than the one before.
result::Prediction prediction() {
  result::Prediction p;
  p.step_time_s = 10;
  p.step_time_low_s = 9;
  p.step_time_high_s = 12;
  p.fits = true;
  p.peak_bytes = 70;
  p.allocated_bytes = 60;
  p.reserved_bytes = 65;
  p.smi_bytes = 70;
  p.warnings = {"a warning"};
  return p;
}

ValidationCase compared(double measured_s) {
  ValidationCase row;
  row.measured_s = measured_s;
  sim::compare(prediction(), row);
  return row;
}

TEST(Compare, ErrorIsPredictedOverMeasuredLessOne) {
  EXPECT_DOUBLE_EQ(*compared(8).error, 0.25);  // 10 / 8 - 1
  EXPECT_DOUBLE_EQ(*compared(20).error, -0.5);
}

TEST(Compare, TheIntervalHoldsItsEnds) {
  EXPECT_EQ(compared(8.99).inside, false);
  EXPECT_EQ(compared(9).inside, true);
  EXPECT_EQ(compared(12).inside, true);
  EXPECT_EQ(compared(12.01).inside, false);
}

TEST(Compare, MemoryIsOfTheKindThatWasMeasured) {
  // Where it is not said, the figure in the middle.
  for (const auto& [kind, bytes] : {std::pair{"allocated", 60}, {"reserved", 65}, {"smi", 70}, {"unknown", 65}}) {
    ValidationCase row;
    row.memory_kind = kind;
    row.measured_bytes = 50;
    sim::compare(prediction(), row);
    EXPECT_EQ(row.predicted_bytes, bytes) << kind;
    EXPECT_DOUBLE_EQ(*row.memory_error, bytes / 50.0 - 1) << kind;
  }
}

TEST(Compare, WhatAFrameworkLoggedIsOfTheFirstStage) {
  result::Prediction p = prediction();
  p.stages.resize(2);
  p.stages[0].reserved_bytes = 55;
  p.stages[1].reserved_bytes = 65;
  for (const auto& [kind, bytes] : {std::pair{"unknown", 55}, {"reserved", 65}}) {
    ValidationCase row;
    row.memory_kind = kind;
    row.measured_bytes = 50;
    sim::compare(p, row);
    EXPECT_EQ(row.predicted_bytes, bytes) << kind;
  }
}

TEST(Compare, WhatWasNotMeasuredHasNoError) {
  ValidationCase row;
  row.measured_fits = false;
  sim::compare(prediction(), row);
  EXPECT_FALSE(row.error || row.inside || row.memory_error);
  EXPECT_EQ(row.predicted_s, 10);
  EXPECT_EQ(row.fits, true);
  EXPECT_EQ(row.warnings, std::vector<std::string>{"a warning"});
}

Case case_of(const std::string& id, const spec::Job& job, double measured_s, const std::string& tier = "A") {
  Case out;
  out.row.id = id;
  out.row.tier = tier;
  out.row.measured_s = measured_s;
  out.job = job;
  return out;
}

Case refused_case(const std::string& tier) {
  Case out;
  out.row.tier = tier;
  out.row.error_message = "error: job: is missing";
  return out;
}

TEST(ValidateCases, RunsEveryCaseAndKeepsTheirOrder) {
  const spec::Job small = toy::job({.tp = 2}), large = toy::job({.tp = 2, .microbatches = 4});
  CaseFile file{"folder/toys.yaml", {{"paper", "P"}}, {}};
  for (int i = 0; i < 20; ++i) file.cases.push_back(case_of(std::to_string(i), i % 2 ? large : small, 1));
  const result::Validation v = sim::validate({file});
  ASSERT_EQ(v.files.size(), 1u);
  EXPECT_EQ(v.files[0].file, "folder/toys.yaml");
  EXPECT_EQ(v.files[0].source, file.source);
  ASSERT_EQ(v.files[0].cases.size(), 20u);
  const double times[] = {sim::predict(small).prediction.step_time_s, sim::predict(large).prediction.step_time_s};
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(v.files[0].cases[i].id, std::to_string(i));
    EXPECT_EQ(v.files[0].cases[i].predicted_s, times[i % 2]);
  }
  EXPECT_EQ(v.summary.rows, 20);
  EXPECT_EQ(v.macro.files, 1);
}

TEST(ValidateCases, SummariesAreOfTheFileAndOfAll) {
  const spec::Job job = toy::job();
  const double step = sim::predict(job).prediction.step_time_s;
  // Measured 1 / 1.1, 1 / 1.3 of the prediction: errors 0.1 and 0.3; in the other file -0.5.
  const CaseFile one{"one.yaml", {}, {case_of("a", job, step / 1.1), case_of("b", job, step / 1.3), refused_case("A")}};
  const CaseFile two{"two.yaml", {}, {case_of("c", job, step / 0.5)}};
  const result::Validation v = sim::validate({one, two});
  EXPECT_NEAR(*v.files[0].summary.mape, 0.2, 1e-12);
  EXPECT_EQ(v.files[0].summary.refused, 1);
  EXPECT_NEAR(*v.files[1].summary.mean_signed_error, -0.5, 1e-12);
  EXPECT_EQ(v.summary.rows, 3);
  EXPECT_EQ(v.summary.refused, 1);
  EXPECT_NEAR(*v.summary.median_abs_error, 0.3, 1e-12);        // of 0.1 0.3 0.5
  EXPECT_NEAR(*v.summary.mean_signed_error, -0.1 / 3, 1e-12);  // (0.1 + 0.3 - 0.5) / 3
}

TEST(ValidateCases, ATierKeepsItsCasesAndThoseWithoutAReadableOne) {
  const spec::Job job = toy::job();
  const CaseFile file{"f.yaml", {}, {case_of("a", job, 1, "A"), case_of("b", job, 1, "B"), refused_case("")}};
  const result::Validation v = sim::validate({file}, "A");
  ASSERT_EQ(v.files[0].cases.size(), 2u);
  EXPECT_EQ(v.files[0].cases[0].id, "a");
  EXPECT_EQ(v.summary.rows, 1);
  EXPECT_EQ(v.summary.refused, 1);
  EXPECT_EQ(sim::validate({file}).files[0].cases.size(), 3u);
}

TEST(ValidateCases, RowsCarryWhatTheyAreGroupedBy) {
  const spec::Job job = toy::job({.tp = 2, .pp = 2, .dp = 2, .micro_batch = 3});
  const auto row = sim::validate({{"x/toys.yaml", {}, {case_of("a", job, 1), refused_case("A")}}}).files[0].cases;
  const result::Labels expected{
      {"gpu", "toy"},        {"tp", "2"},          {"pp", "2"},           {"dp", "2"},
      {"cp", "1"},           {"ep", "1"},          {"zero", "0"},         {"nodes", "1"},
      {"recompute", "none"}, {"kernel", "flash2"}, {"framework", "none"}, {"precision", "bf16"},
      {"micro_batch", "3"},  {"sequence", "128"},  {"model", "toy"},      {"source", "toys"}};
  EXPECT_EQ(row[0].labels, expected);
  std::vector<std::string> keys = sim::grouping_keys();
  for (const auto& [key, value] : expected) {
    EXPECT_EQ(std::erase(keys, key), 1u) << key << " cannot be grouped by";
  }
  EXPECT_TRUE(keys.empty()) << keys.front() << " is no label";
  EXPECT_EQ(row[1].labels, (result::Labels{{"source", "toys"}}));
}

TEST(ValidateCases, TellsProgressOnceForEachCase) {
  const spec::Job job = toy::job();
  CaseFile file{"f.yaml", {}, {}};
  for (int i = 0; i < 7; ++i) file.cases.push_back(case_of("a", job, 1));
  file.cases.push_back(refused_case("A"));
  std::vector<std::size_t> told;
  sim::validate({file}, "", [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, 8u);
    told.push_back(done);
  });
  EXPECT_EQ(told, (std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(ValidateCases, OfNothingIsEmpty) {
  const result::Validation v = sim::validate({});
  EXPECT_TRUE(v.files.empty());
  EXPECT_EQ(v.summary.rows, 0);
}

}  // namespace
