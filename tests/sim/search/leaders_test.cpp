// tests/sim/search/leaders_test.cpp -- the best few and the front against sorting everything.
// SPDX-License-Identifier: Apache-2.0
#include "sim/search/leaders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

namespace {

using sim::Leaders;
using sim::Standing;

Standing standing(double time, std::int64_t bytes, int tp) {
  Standing out{time, bytes, {}};
  out.point[spec::SearchKey::tp] = tp;
  return out;
}

bool dominates(const Standing& a, const Standing& b) {
  if (a.time == b.time && a.bytes == b.bytes) return a.point < b.point;
  return a.time <= b.time && a.bytes <= b.bytes;
}

TEST(Leaders, AreThoseOfASortedList) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<Standing> all;
    for (int i = 0; i < 40; ++i) {
      const double time = static_cast<double>(random() % 12);
      all.push_back(standing(time, static_cast<std::int64_t>(random() % 12), i));
    }
    std::vector<Standing> sorted = all, front;
    std::sort(sorted.begin(), sorted.end(), [](const Standing& a, const Standing& b) {
      return std::tie(a.time, a.bytes, a.point) < std::tie(b.time, b.bytes, b.point);
    });
    for (const Standing& one : sorted) {
      if (std::none_of(all.begin(), all.end(), [&](const Standing& other) { return dominates(other, one); })) {
        front.push_back(one);
      }
    }
    std::shuffle(all.begin(), all.end(), random);
    Leaders leaders(5, false);
    for (const Standing& one : all) leaders.add(one);
    const std::vector<Standing> best = leaders.best(), on_front = leaders.front();
    ASSERT_EQ(best.size(), 5u);
    for (std::size_t i = 0; i < best.size(); ++i) EXPECT_EQ(best[i].point, sorted[i].point);
    ASSERT_EQ(on_front.size(), front.size());
    for (std::size_t i = 0; i < front.size(); ++i) EXPECT_EQ(on_front[i].point, front[i].point);
  }
}

TEST(Leaders, BeatOnlyWhatIsBehindInPlaceAndOffTheFront) {
  Leaders leaders(1, false);
  EXPECT_FALSE(leaders.beaten(standing(9, 9, 9)));  // there is room
  leaders.add(standing(5, 5, 0));
  EXPECT_TRUE(leaders.beaten(standing(6, 6, 1)));
  EXPECT_TRUE(leaders.beaten(standing(5, 6, 1)));
  EXPECT_FALSE(leaders.beaten(standing(4, 6, 1)));  // would be first
  EXPECT_FALSE(leaders.beaten(standing(6, 4, 1)));  // would be on the front
  EXPECT_FALSE(leaders.beaten(standing(5, 5, 1)));  // as good: its values decide
}

}  // namespace
