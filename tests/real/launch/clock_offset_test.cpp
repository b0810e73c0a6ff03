// tests/real/launch/clock_offset_test.cpp -- tests real/launch/clock_offset.h: clocks that are apart by a known time.
// SPDX-License-Identifier: Apache-2.0
#include "real/launch/clock_offset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "tests/real/launch/worlds.h"

namespace {

using real::ClockOffset;
using worlds::kLong;

constexpr std::int64_t kSecond = 1'000'000'000;

/// Rank r's clock is r seconds ahead of rank 0's.
std::array<ClockOffset, 3> offsets(worlds::Kind kind, const std::array<std::string, 3>& machines) {
  std::array<ClockOffset, 3> out;
  const auto ends = worlds::run(
      kind, 3,
      [&](real::World& world) {
        const auto rank = static_cast<std::size_t>(world.identity.rank);
        const real::HostClock true_clock = real::host_clock();
        const real::HostClock clock{[&] { return true_clock.now() + static_cast<std::int64_t>(rank) * kSecond; },
                                    machines[rank]};
        out[rank] = real::clock_offset(world, 7, clock);
      },
      kLong);
  EXPECT_THAT(ends, testing::Each(""));
  return out;
}

TEST(ClockOffset, IsFoundToWithinItsUncertainty) {
  for (const auto kind : {worlds::Kind::memory, worlds::Kind::tcp}) {
    const auto found = offsets(kind, {"a", "b", "c"});
    EXPECT_EQ(found[0].ns, 0);
    for (const std::size_t rank : {1u, 2u}) {
      EXPECT_GT(found[rank].uncertainty_ns, 0);
      EXPECT_LT(found[rank].uncertainty_ns, kSecond / 4);  // a busy machine
      const std::int64_t wrong_by = found[rank].ns + static_cast<std::int64_t>(rank) * kSecond;
      EXPECT_LE(std::abs(wrong_by), found[rank].uncertainty_ns);
    }
  }
}

// Whatever messages between its ranks take.
TEST(ClockOffset, AMachineHasOneClock) {
  const auto found = offsets(worlds::Kind::memory, {"a", "a", "b"});
  EXPECT_EQ(found[1].ns, 0);
  EXPECT_EQ(found[1].uncertainty_ns, 0);
  EXPECT_NE(found[2].ns, 0);
  const auto unknown = offsets(worlds::Kind::memory, {"", "", ""});
  EXPECT_NE(unknown[1].ns, 0);
}

TEST(ClockOffset, ClocksThatGoApartAreUncertainByHalfOfThat) {
  const ClockOffset middle = real::between({100, 10}, {140, 30});
  EXPECT_EQ(middle.ns, 120);
  EXPECT_EQ(middle.uncertainty_ns, 50);
}

}  // namespace
