// tests/core/plan/step_ends_test.cpp -- what an optimizer's step takes for itself. SPDX-License-Identifier: Apache-2.0
#include "core/plan/step_ends.h"

#include <gtest/gtest.h>

#include "tests/core/plan/walk.h"

namespace {

/// Bytes beside the states while 1000 parameters are updated.
std::int64_t workspace(int zero, double tile) {
  const spec::Job j = toy::job({.dp = 4, .zero = zero}, [&](spec::Job& job) {
    job.framework.optimizer_workspace = 4;
    job.framework.optimizer_tile = base::Bytes(tile);
  });
  walk::Pen pen;
  plan::update_parameters(plan::Context(j), pen.out, 1000);
  return pen.out.finish().memory.front().bytes;
}

TEST(StepEnds, AnOptimizerMayCopyItsGradients) { EXPECT_EQ(workspace(1, 0), 4000); }

TEST(StepEnds, ZeroThreeUpdatesByTiles) {
  EXPECT_EQ(workspace(3, 1500), 1500);
  EXPECT_EQ(workspace(3, 5000), 4000);  // a tile that holds all of them
  EXPECT_EQ(workspace(1, 1500), 4000);  // zero 1 and 2 have none
}

}  // namespace
