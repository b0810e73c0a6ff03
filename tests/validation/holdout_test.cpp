// tests/validation/holdout_test.cpp -- choices between models that whole steps had a say in do not live off single
// sources: made again without each source of published steps, they predict it nearly as well. The table is printed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "core/config/case_reader.h"
#include "core/config/choices_reader.h"
#include "core/config/map_reader.h"
#include "reports/holdout.h"
#include "sim/validation/cross_validate.h"

namespace {

struct Bound {
  double ratio = 0, median_abs_error = 0;
  std::vector<std::string> without;  // files that are left aside
};

Bound read_bound(const std::string& path) {
  const config::Value tree = config::load(path);
  config::Faults faults;
  config::MapReader map(tree, "", faults);
  Bound bound;
  if (const config::Value* holdout = map.child("holdout")) {
    config::MapReader part(*holdout, "holdout", faults);
    part.require("ratio", bound.ratio, 1, 1.3);  // more than that is over-fitting, whatever the day's figure
    part.require("median_abs_error", bound.median_abs_error, 0, 1);
    if (const config::Value* list = part.child("without")) {
      for (const config::Value& item : list->items) bound.without.push_back(item.text);
    }
    part.finish();
  }
  if (!faults.empty()) throw base::InputError(faults);
  return bound;
}

std::vector<std::string> published(const std::string& folder, const std::vector<std::string>& without) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string stem = entry.path().stem();
    if (std::find(without.begin(), without.end(), stem) == without.end()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(PublishedHoldout, ASourceIsPredictedNearlyAsWellByChoicesMadeWithoutIt) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP()
      << "some thousand predictions: the same code runs on few Jobs in tests/sim/validation/choice_steps_test.cpp";
#endif
  const std::string folder = std::string(FORERUN_SOURCE_DIR) + "/validation";
  const Bound bound = read_bound(folder + "/bounds.yaml");
  const config::Catalogue catalogue = config::Catalogue(FORERUN_SOURCE_DIR).remembering();
  std::vector<config::CaseFile> files;
  for (const std::string& file : published(folder + "/published", bound.without)) {
    files.push_back(config::read_cases(file, catalogue));
  }
  const result::Validation validation = sim::validate(files);
  const result::Holdout told = sim::cross_validate(
      files, validation, config::read_choices(folder + "/choices.yaml", catalogue), catalogue, "source");
  std::cout << reports::holdout_text(told);

  ASSERT_GE(told.groups.size(), 15u);
  EXPECT_LE(told.ratio, bound.ratio);
  EXPECT_LE(told.held_out.median_abs_error, bound.median_abs_error);
  // The weighting is that of summary.macro.
  EXPECT_NEAR(told.present.median_abs_error, validation.macro.median_abs_error.value(), 1e-12);
  EXPECT_LE(told.in_sample.median_abs_error, told.present.median_abs_error + 1e-12);
}

}  // namespace
