// tests/sim/engine/tournament_test.cpp -- the winner tree against a plain search.
// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/tournament.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace {

using sim::Tournament;

TEST(Tournament, HasNoWinnerBeforeAnyKeyIsSet) { EXPECT_EQ(Tournament(5).earliest(), Tournament::kNever); }

TEST(Tournament, TiesGoToTheLowerIndex) {
  Tournament t(8);
  t.set(6, 10);
  t.set(3, 10);
  EXPECT_EQ(t.winner(), 3);
  t.set(3, 11);
  EXPECT_EQ(t.winner(), 6);
  t.set(6, 11);
  EXPECT_EQ(t.winner(), 3);
}

TEST(Tournament, AgreesWithAPlainSearchAfterEveryUpdate) {
  std::mt19937 random(1);
  for (const std::size_t players : {1, 2, 3, 7, 8, 9, 100, 129}) {
    Tournament t(players);
    std::vector<std::int64_t> keys(players, Tournament::kNever);
    for (int n = 0; n < 5000; ++n) {
      const auto player = static_cast<std::int32_t>(random() % players);
      keys[player] = random() % 10 == 0 ? Tournament::kNever : static_cast<std::int64_t>(random() % 50);  // many ties
      t.set(player, keys[player]);
      const auto least = std::min_element(keys.begin(), keys.end());  // the first of equals
      ASSERT_EQ(t.earliest(), *least);
      if (*least == Tournament::kNever) continue;
      ASSERT_EQ(t.winner(), least - keys.begin());
    }
  }
}

}  // namespace
