// tests/validation/published_test.cpp -- accuracy is a test: published step times beside predictions. The table is
// printed, and a figure worse than its bound in validation/bounds.yaml fails. A bound moves only with a reason.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <iostream>

#include "core/config/case_reader.h"
#include "core/config/map_reader.h"
#include "reports/validation.h"
#include "sim/validation/validate.h"

namespace {

struct Bound {
  double median_abs_error = 0, mean_signed_error = 0;
  double memory_mape = 0;  // 0: no row states its memory
  double coverage_80 = 0;  // at least
  int refused = 0;         // a file gets no better by refusing its hard cases
};

struct Bounds {
  std::vector<std::pair<std::string, Bound>> files;  // by stem, in the order to run
  Bound macro;
};

Bound read_bound(const config::Value& value, const std::string& path, config::Faults& faults) {
  Bound bound;
  config::MapReader map(value, path, faults);
  map.require("median_abs_error", bound.median_abs_error, 0, 10);
  map.require("mean_signed_error", bound.mean_signed_error, 0, 10);
  map.read("memory_mape", bound.memory_mape, 0, 10);
  map.read("coverage_80", bound.coverage_80, 0, 1);
  map.read("refused", bound.refused, 0, 10'000);
  map.finish();
  return bound;
}

Bounds read_bounds(const std::string& path) {
  const config::Value tree = config::load(path);
  config::Faults faults;
  config::MapReader map(tree, "", faults);
  Bounds bounds;
  if (const config::Value* files = map.child("files")) {
    for (const auto& [name, value] : files->entries) bounds.files.emplace_back(name, read_bound(value, name, faults));
  }
  if (const config::Value* macro = map.child("macro")) bounds.macro = read_bound(*macro, "macro", faults);
  map.ignore("holdout");  // of tests/validation/holdout_test.cpp
  map.finish();
  if (!faults.empty()) throw base::InputError(faults);
  return bounds;
}

class Published : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string folder = std::string(FORERUN_SOURCE_DIR) + "/validation/";
    bounds_ = read_bounds(folder + "bounds.yaml");
    const config::Catalogue catalogue(FORERUN_SOURCE_DIR);
    std::vector<config::CaseFile> files;
    for (const auto& [name, bound] : bounds_.files) {
      files.push_back(config::read_cases(folder + "published/" + name + ".yaml", catalogue));
    }
    answer_ = sim::validate(std::move(files));
    std::cout << reports::validation_text(answer_);
  }

  static const result::ValidationSummary& summary(const std::string& name) {
    for (const result::ValidationFile& file : answer_.files) {
      if (std::filesystem::path(file.file).stem() == name) return file.summary;
    }
    throw std::logic_error("validation/bounds.yaml says nothing of " + name);
  }

  static Bounds bounds_;
  static result::Validation answer_;
};
Bounds Published::bounds_;
result::Validation Published::answer_;

TEST_F(Published, EveryFileKeepsItsBounds) {
  ASSERT_GE(bounds_.files.size(), 8u);
  for (const auto& [name, bound] : bounds_.files) {
    const result::ValidationSummary& s = summary(name);
    EXPECT_LE(s.refused, bound.refused) << name;
    ASSERT_TRUE(s.median_abs_error) << name << ": no row ran";
    EXPECT_LE(*s.median_abs_error, bound.median_abs_error) << name;
    EXPECT_LE(std::abs(*s.mean_signed_error), bound.mean_signed_error) << name;
  }
}

TEST_F(Published, EveryFileKeepsTheBoundOfItsMemory) {
  for (const auto& [name, bound] : bounds_.files) {
    const result::ValidationSummary& s = summary(name);
    ASSERT_EQ(s.memory_mape.has_value(), bound.memory_mape > 0) << name;
    EXPECT_LE(s.memory_mape.value_or(0), bound.memory_mape) << name;
  }
}

TEST_F(Published, TheMeanOfFilesKeepsItsBounds) {
  ASSERT_TRUE(answer_.macro.median_abs_error);
  EXPECT_LE(*answer_.macro.median_abs_error, bounds_.macro.median_abs_error);
  EXPECT_LE(std::abs(*answer_.macro.mean_signed_error), bounds_.macro.mean_signed_error);
}

TEST_F(Published, FourFifthsOfTheRowsAreInTheInterval) {
  ASSERT_TRUE(answer_.macro.coverage_80);
  EXPECT_GE(*answer_.macro.coverage_80, bounds_.macro.coverage_80);
  EXPECT_LE(*answer_.macro.coverage_80, 0.9);  // wider is no better
}

TEST_F(Published, TheMegatronPapersAreWithinFifteenPercentWhateverTheFileSays) {
  EXPECT_LE(summary("megatron-sc21").median_abs_error.value(), 0.15);
  EXPECT_LE(summary("korthikanti-2022").median_abs_error.value(), 0.15);
}

}  // namespace
