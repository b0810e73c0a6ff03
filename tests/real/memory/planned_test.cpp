// tests/real/memory/planned_test.cpp -- tests real/memory/planned.h. SPDX-License-Identifier: Apache-2.0
#include "real/memory/planned.h"

#include <gtest/gtest.h>

#include "core/plan/build.h"
#include "tests/support/toy.h"

namespace {

using plan::Category;

TEST(Planned, ThePeakIsThatOfTheChangesInTheirOrder) {
  // 100 stay; a call takes 50, then gives 50 and takes 20: 150 at most, twice over.
  plan::Plan plan;
  plan::Segment& segment = plan.segments.emplace_back();
  segment.memory = {{0, false, Category::activations, 50},
                    {0, true, Category::activations, -50},
                    {1, false, Category::workspace, 20},
                    {1, true, Category::workspace, -20}};
  plan::Role role;
  role.calls = {{}, {}};
  role.resident[static_cast<int>(Category::parameters)] = 100;
  const real::Ledger ledger = real::planned(plan, role);
  EXPECT_EQ(ledger.peak(), 150);
  EXPECT_EQ(ledger.at_peak()[static_cast<int>(Category::activations)], 50);
  EXPECT_EQ(ledger.total(), 100);
}

TEST(Planned, WhatAStepTakesItGivesBack) {
  const spec::Job job = toy::job({.tp = 2, .pp = 2});
  const plan::Plan plan = plan::build(job);
  for (const plan::Role& role : plan.roles) {
    const real::Ledger ledger = real::planned(plan, role);
    for (int i = 0; i < plan::kCategories; ++i) EXPECT_EQ(ledger.now()[i], role.resident[i]) << plan::kCategoryNames[i];
    EXPECT_GT(ledger.peak(), ledger.total());
  }
}

}  // namespace
