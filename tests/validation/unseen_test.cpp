// tests/validation/unseen_test.cpp -- published steps that had no say in any curve, constant or choice
// (docs/accuracy.md). SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/config/case_reader.h"
#include "sim/validation/validate.h"

namespace {

TEST(Unseen, StepsThatNothingWasFittedToAreMetAsTheOthersAre) {
  const config::Catalogue catalogue(FORERUN_SOURCE_DIR);
  std::vector<config::CaseFile> files;
  for (const char* name : {"llama3", "nemo-24.12", "nemo-25", "collected"}) {
    files.push_back(
        config::read_cases(std::string(FORERUN_SOURCE_DIR) + "/validation/unseen/" + name + ".yaml", catalogue));
  }
  const result::Validation answer = sim::validate(std::move(files));
  EXPECT_EQ(answer.summary.refused, 0);
  std::vector<std::string> far;
  for (const result::ValidationFile& file : answer.files) {
    for (const result::ValidationCase& row : file.cases) {
      ASSERT_TRUE(row.error) << row.id;
      if (std::abs(*row.error) > 0.255) far.push_back(row.id);  // nine tenths of NeMo's other rows are met as well
    }
  }
  // Its source tells why: a host that each kernel waits for; what it mended is met within 2 % (dsv3-gb200-final).
  EXPECT_EQ(far, std::vector<std::string>{"dsv3-gb200-baseline"});
  EXPECT_LE(answer.summary.median_abs_error.value(), 0.078);  // 5.8 % on 24 November 2026
  EXPECT_GE(answer.summary.coverage_80.value(), 0.8);
}

}  // namespace
