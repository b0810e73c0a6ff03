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

TEST(Nearest, IsOfferedOnlyWhenItCouldBeMeant) {
  const std::vector<std::string> known{"sequence", "global_batch", "tp"};
  EXPECT_EQ(nearest("sequense", known), "sequence");
  EXPECT_EQ(nearest("globalbatch", known), "global_batch");
  EXPECT_EQ(nearest("temperature", known), std::nullopt);
  EXPECT_EQ(nearest("xy", known), std::nullopt);  // every letter of tp wrong
}

TEST(Nearest, IsTheShortestThatBeginsSoBeforeAMisspeltOne) {
  const std::vector<std::string> known{"h800", "h100-pcie", "h100-sxm", "h100x"};
  EXPECT_EQ(nearest("h100", known), "h100-sxm");
  EXPECT_EQ(nearest("h80", known), "h800");  // nothing begins with h80-
}

TEST(DidYouMean, NamesHardwareAndModelsByTheirNumbers) {
  const std::vector<std::string> nodes{"a100-pcie-x8", "dgx-b200",    "dgx-h100",    "dgx-h200",
                                       "gb200-nvl72",  "h100-nvl-x8", "hgx-h100-x4", "nd-h100-v5"};
  // distances 4, 6, 7 and 7; twice the least is too far
  EXPECT_EQ(did_you_mean("h100", nodes), "did you mean dgx-h100, nd-h100-v5, h100-nvl-x8 or hgx-h100-x4?");
  EXPECT_EQ(did_you_mean("hgx-h100", nodes), "did you mean dgx-h100?");
  EXPECT_EQ(did_you_mean("DGX-GB200", nodes), "did you mean gb200-nvl72?");  // not dgx-b200, which is nearer by letters
  EXPECT_EQ(did_you_mean("b200", nodes), "did you mean dgx-b200?");
  EXPECT_EQ(did_you_mean("dgx-h20", nodes), "did you mean dgx-h200?");  // no word of another: by letters
  EXPECT_EQ(did_you_mean("cpu", nodes), "");
  const std::vector<std::string> models{"llama2-13b", "llama2-7b", "qwen2.5-7b", "qwen3-4b"};
  EXPECT_EQ(did_you_mean("qwen-7b", models), "did you mean qwen2.5-7b?");
  EXPECT_EQ(did_you_mean("lama2-7b", models), "did you mean llama2-7b?");
  EXPECT_EQ(did_you_mean("Llama-2-7B", {"llama-7b", "llama2-7b", "opt-2.7b"}), "did you mean llama2-7b?");
}

}  // namespace
}  // namespace base
