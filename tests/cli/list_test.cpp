// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::contains;
using testing_support::forerun;

TEST(List, OneKindIsOneNameALine) {
  const Answer run = forerun("list models");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains("\n" + run.out, "\nllama3-70b\n"));
  EXPECT_TRUE(contains("\n" + run.out, "\ngpt3-175b\n"));
}

TEST(List, WithoutAKindItShowsAllUnderTheirKind) {
  const Answer run = forerun("list");
  EXPECT_EQ(run.exit_code, 0);
  for (const char* kind : {"models", "nodes", "gpus", "fabrics", "frameworks", "jobs", "calibrations"}) {
    EXPECT_TRUE(contains("\n" + run.out, std::string("\n") + kind + "\n")) << kind;
  }
}

TEST(List, JsonHoldsTheSameNamesAndNothingElseIsPrinted) {
  const json parsed = json::parse(forerun("list models --json -").out);
  EXPECT_EQ(parsed["schema"], 1);
  std::string lines;
  for (const auto& name : parsed["models"]) lines += name.get<std::string>() + "\n";
  EXPECT_EQ(lines, forerun("list models").out);
}

TEST(List, AnUnknownKindOffersTheNearest) {
  const Answer run = forerun("list modles");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err, "error: KIND: there is no kind 'modles'\n  mend: did you mean models?\n");
}

}  // namespace
