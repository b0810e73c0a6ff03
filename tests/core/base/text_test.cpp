// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(Text, UnitsScale) {
  EXPECT_DOUBLE_EQ(parse_seconds("1.5us").value->si(), 1.5e-6);
  EXPECT_DOUBLE_EQ(parse_seconds("2 ms").value->si(), 2e-3);
  EXPECT_EQ(parse_bytes("80GB").value->si(), 80e9);
  EXPECT_EQ(parse_bytes("80GiB").value->si(), 80.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(parse_flop_rate("1.979PFLOP/s").value->si(), 1.979e15);
  EXPECT_EQ(parse_watts("10.2kW").value->si(), 10200);
  EXPECT_EQ(parse_hertz("1410MHz").value->si(), 1.41e9);
}

TEST(Text, BitsAreAnEighthOfBytes) {
  EXPECT_EQ(parse_byte_rate("400Gb/s").value->si(), 50e9);
  EXPECT_EQ(parse_byte_rate("400GB/s").value->si(), 400e9);
}

TEST(Text, ANumberAloneIsNoQuantity) {
  const auto rate = parse_byte_rate("900");
  EXPECT_FALSE(rate.value);
  EXPECT_EQ(rate.problem, "'900' has no unit");
  EXPECT_EQ(rate.mend, "write 900GB/s (bytes) or 900Gb/s (bits)");
  EXPECT_EQ(parse_seconds("3").problem, "'3' has no unit");
}

TEST(Text, SizesAreNotInBits) {
  const auto size = parse_bytes("80Gb");
  EXPECT_FALSE(size.value);
  EXPECT_EQ(size.problem, "'80Gb' is in bits");
  EXPECT_EQ(size.mend, "memory is counted in bytes: write 80GB");
}

TEST(Text, OtherMistakesAreToldApart) {
  EXPECT_EQ(parse_seconds("soon").problem, "'soon' is not a number with a unit");
  EXPECT_EQ(parse_seconds("").problem, "'' is not a number with a unit");
  EXPECT_EQ(parse_seconds("-1s").problem, "'-1s' is negative");
  EXPECT_EQ(parse_seconds("3GB").problem, "'GB' in '3GB' is not a unit of time");
  EXPECT_EQ(parse_bytes("1e999GB").value, std::nullopt);
  EXPECT_EQ(parse_bytes("nanGB").value, std::nullopt);
}

TEST(Text, QuotesShowWhatATerminalWouldObeyOrSwallow) {
  EXPECT_EQ(quoted("zb-v"), "'zb-v'");
  EXPECT_EQ(quoted(std::string_view("a\0b", 3)), "'a\\x00b'");
  EXPECT_EQ(quoted("\x1b[31m\n\x7f"), "'\\x1b[31m\\x0a\\x7f'");
  EXPECT_EQ(quoted("é"), "'é'");
}

TEST(Text, PeopleReadThreeDigits) {
  EXPECT_EQ(human(us(12345)), "12.3 ms");
  EXPECT_EQ(human(Bytes(71.4e9)), "71.4 GB");
  EXPECT_EQ(human(GBps(450)), "450 GB/s");
  EXPECT_EQ(human(TFLOPps(989)), "989 TFLOP/s");
  EXPECT_EQ(human(Seconds()), "0 s");
}

TEST(Text, CommasGroupThousands) {
  EXPECT_EQ(with_commas(70553706496), "70,553,706,496");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(-1000), "-1,000");
  EXPECT_EQ(with_commas(-999), "-999");
}

}  // namespace
}  // namespace base
