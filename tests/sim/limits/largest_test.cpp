// SPDX-License-Identifier: Apache-2.0
#include "sim/limits/largest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace {

using sim::LastThatFits;
using sim::Row;

/// The slow way: one after the other.
LastThatFits one_by_one(const Row& row, std::int64_t most_that_fits) {
  LastThatFits out;
  for (std::int64_t value = row.first; value <= row.most; value += row.step) {
    if (value > most_that_fits) {
      out.next = value;
      break;
    }
    out.reached = value;
  }
  return out;
}

TEST(LastThatFits, IsThatOfLookingAtEachValue) {
  std::mt19937 random(7);
  const auto one_of = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t first = one_of(1, 50), step = one_of(1, 20);
    const Row row{first, step, first + one_of(0, 3000)};
    const std::int64_t limit = one_of(0, 3500), near = one_of(0, 4000);
    const LastThatFits fast = sim::last_that_fits(row, near, [&](std::int64_t value) { return value <= limit; });
    const LastThatFits slow = one_by_one(row, limit);
    EXPECT_EQ(fast.reached, slow.reached) << first << " " << step << " " << row.most << " " << limit << " " << near;
    EXPECT_EQ(fast.next, slow.next) << first << " " << step << " " << row.most << " " << limit << " " << near;
  }
}

TEST(LastThatFits, LooksAtFewValuesOfTheRowAndOfNoOtherOnes) {
  // A million places: some 20 strides and 20 halvings at most.
  const Row row{256, 256, 256'000'000};
  int looks = 0;
  const auto fits = [&](std::int64_t value) {
    ++looks;
    EXPECT_EQ(value % 256, 0);
    EXPECT_LE(value, row.most);
    return value <= 123'456'789;
  };
  EXPECT_EQ(sim::last_that_fits(row, 8192, fits).reached, 123'456'768);
  EXPECT_LE(looks, 42);
}

}  // namespace
