// SPDX-License-Identifier: Apache-2.0
#include "reports/memory_line.h"

#include <gtest/gtest.h>

namespace {

using reports::highest;
using reports::memory_line;
using Bytes = std::vector<std::int64_t>;

TEST(MemoryLine, AColumnIsTheHighestOfItsTime) {
  // Columns of 2 s: 3 until 1 s and 9 until 1.5 s stand in the first, 4 in the second and the third.
  const std::vector<result::MemoryStep> steps{{0, 3}, {1, 9}, {1.5, 4}};
  EXPECT_EQ(highest(steps, {0, 6}, 3), (Bytes{9, 4, 4}));
}

TEST(MemoryLine, APartBeginsWithWhatWasHeldBefore) {
  const std::vector<result::MemoryStep> steps{{0, 3}, {1, 9}, {5, 4}};
  EXPECT_EQ(highest(steps, {2, 4}, 2), (Bytes{9, 9}));
  EXPECT_EQ(highest({{3, 7}}, {0, 4}, 2), (Bytes{0, 7}));  // nothing before the first
}

TEST(MemoryLine, EighthsAreRoundedUpAndMoreThanAllIsMarked) {
  EXPECT_EQ(memory_line({0, 1, 100, 101, 800, 801}, 800, {}), " ▁▁▂█!");
  EXPECT_EQ(memory_line({801}, 800, {100, true}), "\033[31m!\033[0m");
}

}  // namespace
