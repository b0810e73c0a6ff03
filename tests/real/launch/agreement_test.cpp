// tests/real/launch/agreement_test.cpp -- tests real/launch/agreement.h. SPDX-License-Identifier: Apache-2.0
#include "real/launch/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/real/launch/worlds.h"

namespace {

using worlds::kLong;

/// Rank 2 says `odd`, the others `usual`.
worlds::Ends ends(const real::Intentions& usual, const real::Intentions& odd) {
  return worlds::run(
      worlds::Kind::tcp, 4,
      [&](real::World& world) { real::expect_agreement(world, world.identity.rank == 2 ? odd : usual); }, kLong);
}

TEST(Agreement, RanksThatDoTheSameGoOn) {
  const real::Intentions same{{"--steps", "10"}, {"--tokens", ""}};
  EXPECT_THAT(ends(same, same), testing::Each(""));
}

TEST(Agreement, ARankThatDoesSomethingElseIsNamedWithAllThatDiffers) {
  const auto told = ends({{"--steps", "10"}, {"the Plan", "a1"}, {"--tokens", ""}, {"strategy.tp", "2"}},
                         {{"--steps", "20"}, {"the Plan", "a1"}, {"--tokens", "9 bytes"}});
  const std::string what =
      "rank 2 (here) does not do what rank 0 does: --steps is 20, rank 0 has 10; --tokens is 9 bytes, rank 0 has "
      "nothing; strategy.tp is nothing, rank 0 has 2";
  EXPECT_EQ(told[2], what);
  for (const std::size_t rank : {0u, 1u, 3u}) EXPECT_EQ(told[rank], "rank 2 gave up: " + what);
}

TEST(Agreement, AFingerprintTellsTextsAndTheirBordersApart) {
  using real::Fingerprint;
  EXPECT_EQ(Fingerprint().add("ab").add(3).text(), Fingerprint().add("ab").add(3).text());
  EXPECT_NE(Fingerprint().add("ab").add("c").text(), Fingerprint().add("a").add("bc").text());
  EXPECT_NE(Fingerprint().add(1).text(), Fingerprint().add(-1).text());
}

}  // namespace
