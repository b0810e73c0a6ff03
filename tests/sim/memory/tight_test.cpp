// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/tight.h"

#include <gtest/gtest.h>

namespace {

TEST(Tight, IsWhatIsAboveNineteenTwentiethsAndFits) {
  EXPECT_FALSE(sim::is_tight(95, 100));
  EXPECT_TRUE(sim::is_tight(96, 100));
  EXPECT_TRUE(sim::is_tight(100, 100));
  EXPECT_FALSE(sim::is_tight(101, 100));  // does not fit at all
}

}  // namespace
