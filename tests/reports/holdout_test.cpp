// SPDX-License-Identifier: Apache-2.0
#include "reports/holdout.h"

#include <gtest/gtest.h>

#include "reports/validation.h"
#include "tests/reports/view.h"

namespace {

using testing_support::expect_view;

/// Two sources, of which one wants the second alternative of the only choice.
result::Holdout sample() {
  result::Holdout h;
  h.key = "source";
  h.choices = {{"torch-host",
                "host time of an eager kernel",
                {{"20us", 120, 0.125, 0.1125}, {"40us", 0, 0.1, 0.1}, {"60us", 120, 0.11, 0.09}},
                1,
                2}};
  h.groups = {{"large-sweep", 1200, {0.08, 0.09, -0.01}, {0.06, 0.07, 0.02}, {0.16, 0.2, 0.15}, {{0, 0}}, 0.82, 0.74},
              {"paper", 10, {0.12, 0.15, -0.05}, {0.12, 0.15, -0.05}, {0.12, 0.15, -0.05}, {}, {}, {}}};
  h.present = {0.1, 0.12, -0.03};
  h.in_sample = {0.09, 0.11, -0.015};
  h.held_out = {0.14, 0.175, 0.05};
  h.ratio = 0.14 / 0.09;
  h.inside_with = 0.82;
  h.inside_without = 0.74;
  return h;
}

TEST(HoldoutText, NamesWhatTheOthersWouldChange) {
  expect_view("holdout.txt", [](const reports::Style& s) { return reports::holdout_text(sample(), s); });
}

TEST(HoldoutJson, StandsInTheValidation) {
  const result::Holdout h = sample();
  const auto all = reports::Json::parse(reports::validation_json({}, {}, &h));
  const auto& told = all["holdout"];
  EXPECT_EQ(told, reports::holdout_json(h));
  EXPECT_EQ(told["key"], "source");
  EXPECT_EQ(told["held_out"]["median_abs_error"], 0.14);
  EXPECT_EQ(told["groups"][0]["changes"], reports::Json({{"torch-host", "20us"}}));
  EXPECT_EQ(told["groups"][1]["changes"], reports::Json::object());
  EXPECT_TRUE(told["groups"][1]["coverage_80"].is_null());
  EXPECT_EQ(told["choices"][0]["catalogue"], "40us");
  EXPECT_EQ(told["choices"][0]["in_sample"], "60us");
  EXPECT_EQ(told["choices"][0]["alternatives"][2]["beside_refit"], 0.09);
}

TEST(HoldoutJson, IsLeftOutOfAValidationWithoutIt) {
  EXPECT_FALSE(reports::Json::parse(reports::validation_json({})).contains("holdout"));
}

}  // namespace
