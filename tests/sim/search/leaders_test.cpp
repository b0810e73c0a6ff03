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

bool dominates(const Standing& a, const Standing& b) {
  if (a.time == b.time && a.bytes == b.bytes) return a.number < b.number;
  return a.time <= b.time && a.bytes <= b.bytes;
}

TEST(Leaders, AreThoseOfASortedList) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<Standing> all;
    for (std::size_t i = 0; i < 40; ++i)
      all.push_back({static_cast<double>(random() % 12), static_cast<std::int64_t>(random() % 12), i});
    std::vector<Standing> sorted = all, front;
    std::sort(sorted.begin(), sorted.end(), [](const Standing& a, const Standing& b) {
      return std::tie(a.time, a.bytes, a.number) < std::tie(b.time, b.bytes, b.number);
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
    for (std::size_t i = 0; i < best.size(); ++i) EXPECT_EQ(best[i].number, sorted[i].number);
    ASSERT_EQ(on_front.size(), front.size());
    for (std::size_t i = 0; i < front.size(); ++i) EXPECT_EQ(on_front[i].number, front[i].number);
  }
}

TEST(Leaders, BeatOnlyWhatIsBehindInPlaceAndOffTheFront) {
  Leaders leaders(1, false);
  EXPECT_FALSE(leaders.beaten({9, 9, 9}));  // there is room
  leaders.add({5, 5, 0});
  EXPECT_TRUE(leaders.beaten({6, 6, 1}));
  EXPECT_TRUE(leaders.beaten({5, 6, 1}));
  EXPECT_FALSE(leaders.beaten({4, 6, 1}));  // would be first
  EXPECT_FALSE(leaders.beaten({6, 4, 1}));  // would be on the front
  EXPECT_FALSE(leaders.beaten({5, 5, 1}));  // as good: its number decides
}

}  // namespace
