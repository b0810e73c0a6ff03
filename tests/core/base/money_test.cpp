// SPDX-License-Identifier: Apache-2.0
#include "core/base/money.h"

#include <gtest/gtest.h>

namespace {

using namespace base;

TEST(Money, IsReadWithItsCurrencyAndScale) {
  EXPECT_EQ(parse_money("$5M").value, usd(5e6));
  EXPECT_EQ(parse_money("$270k").value, usd(270e3));
  EXPECT_EQ(parse_money("$1.5B").value, usd(1.5e9));
  EXPECT_EQ(parse_money("5MUSD").value, usd(5e6));
  EXPECT_EQ(parse_money("5M USD").value, usd(5e6));
  EXPECT_EQ(parse_money("$0.42").value, usd(0.42));
}

TEST(Money, WithoutACurrencyItIsAFault) {
  const auto bare = parse_money("5M");
  EXPECT_FALSE(bare.value);
  EXPECT_EQ(bare.problem, "'5M' has no currency");
  EXPECT_EQ(bare.mend, "write US dollars, such as $5M (in single quotes on a command line) or 5MUSD");
  EXPECT_EQ(parse_money("$M").problem, "'$M' is not a sum of money");
  EXPECT_EQ(parse_money("$-5").problem, "'$-5' is negative");
  EXPECT_EQ(parse_money("$1e30").problem, "'$1e30' is out of range");
  EXPECT_EQ(parse_money("$nan").problem, "'$nan' is not a sum of money");
}

TEST(Money, APriceIsReadWithWhatItIsOf) {
  EXPECT_EQ(parse_time_price("$3.60/h").value, TimePrice(0.001));  // 3,600 s an hour
  EXPECT_EQ(parse_time_price("3.60USD/h").value, TimePrice(0.001));
  EXPECT_EQ(parse_energy_price("$0.36/kWh").value, EnergyPrice(1e-7));  // 3.6e6 J a kWh
  EXPECT_EQ(parse_time_price("$2.50").problem, "'$2.50' does not end in /h");
  EXPECT_EQ(parse_time_price("2.50/h").problem, "'2.50/h' has no currency");
}

TEST(Money, PricesAndQuantitiesMultiply) {
  EXPECT_EQ(usd_per_hour(2) * hours(10), usd(20));
  EXPECT_NEAR((usd_per_kwh(0.1) * (Watts(1000) * hours(3))).dollars(), 0.3, 1e-12);
  EXPECT_NEAR((usd(100) / usd_per_hour(4)) / hours(1), 25, 1e-12);
}

TEST(Money, IsShownWithThreeDigitsOrSo) {
  EXPECT_EQ(human(usd(4.207e6)), "$4.21M");
  EXPECT_EQ(human(usd(999'600)), "$1.00M");
  EXPECT_EQ(human(usd(270e3)), "$270k");
  EXPECT_EQ(human(usd(27'349)), "$27.3k");
  EXPECT_EQ(human(usd(512.4)), "$512");
  EXPECT_EQ(human(usd(0.42)), "$0.42");
  EXPECT_EQ(human(usd(2.5e9)), "$2.50B");
  EXPECT_EQ(human(usd_per_hour(2.1)), "$2.10/h");
  EXPECT_EQ(human(usd_per_kwh(0.0929)), "$0.0929/kWh");
}

TEST(Money, DaysAndYearsAreTimes) {
  EXPECT_EQ(parse_seconds("60d").value, days(60));
  EXPECT_EQ(parse_seconds("2y").value, days(730));
}

}  // namespace
