// SPDX-License-Identifier: Apache-2.0
#include "core/base/units.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace base {
namespace {

TEST(Units, DimensionsFollowTheArithmetic) {
  static_assert(std::is_same_v<decltype(GB(1) / GBps(1)), Seconds>);
  static_assert(std::is_same_v<decltype(Flops(1) / s(1)), FlopRate>);
  static_assert(std::is_same_v<decltype(s(1) / s(2)), double>);
  static_assert(std::is_same_v<decltype(GBps(1) * s(1)), Bytes>);
  EXPECT_DOUBLE_EQ((GB(9) / GBps(3)).si(), 3);
  EXPECT_DOUBLE_EQ(s(1) / s(4), 0.25);
}

TEST(Units, CountsOfBytesStayExact) {
  EXPECT_EQ(GiB(80).si(), 85899345920.0);
  EXPECT_EQ((Bytes(9007199254740991.0) + Bytes(1)).si(), 9007199254740992.0);  // 2^53
}

TEST(Units, Compare) {
  EXPECT_LT(us(999), ms(1));
  EXPECT_EQ(us(1000), ms(1));
  Seconds total;
  total += s(2);
  total -= s(0.5);
  EXPECT_EQ(total, s(1.5));
}

}  // namespace
}  // namespace base
