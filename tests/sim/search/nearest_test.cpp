// SPDX-License-Identifier: Apache-2.0
#include "sim/search/nearest.h"

#include <gtest/gtest.h>

namespace {

spec::SearchPoint point(int tp) {
  spec::SearchPoint out;
  out[spec::SearchKey::tp] = tp;
  return out;
}

TEST(Nearest, HoldsTheFewestBytesAndOfEqualsTheFirst) {
  sim::Nearest nearest;
  EXPECT_FALSE(nearest.best());
  nearest.add(point(2), 120);
  nearest.add(point(4), 110);
  nearest.add(point(1), 110);
  nearest.add(point(8), 130);
  EXPECT_EQ(nearest.best()->bytes, 110);
  EXPECT_EQ(nearest.best()->point, point(1));
}

TEST(Nearest, OnlyLessThanTheNearestMattersUntilSomethingFits) {
  sim::Nearest nearest;
  EXPECT_GT(nearest.limit(100), 1'000'000);
  nearest.add(point(2), 120);
  EXPECT_EQ(nearest.limit(100), 120);
  nearest.something_fits();
  EXPECT_EQ(nearest.limit(100), 100);
  EXPECT_FALSE(nearest.best());
}

}  // namespace
