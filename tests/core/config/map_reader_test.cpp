// SPDX-License-Identifier: Apache-2.0
#include "core/config/map_reader.h"

#include <gtest/gtest.h>

namespace config {
namespace {

enum class Colour { red, green };

TEST(MapReader, ReadsEveryKindOfField) {
  const Value value = parse(
      "{s: text, b: true, i: 8, d: 0.5, t: 2ms, m: 80GB, r: 400Gb/s, f: 1PFLOP/s, w: 10kW, h: 1GHz, l: [1, 2], e: "
      "green}",
      "f");
  Faults faults;
  MapReader map(value, "", faults);
  std::string s;
  bool b = false;
  int i = 0;
  double d = 0;
  base::Seconds t;
  base::Bytes m;
  base::ByteRate r;
  base::FlopRate f;
  base::Watts w;
  base::Hertz h;
  std::vector<int> l;
  Colour e = Colour::red;
  EXPECT_TRUE(map.read("s", s) && map.read("b", b) && map.read("i", i, 1, 8) && map.read("d", d, 0, 1));
  EXPECT_TRUE(map.read("t", t) && map.read("m", m) && map.read("r", r) && map.read("f", f) && map.read("w", w));
  EXPECT_TRUE(map.read("h", h) && map.read("l", l, 0, 9));
  EXPECT_TRUE(map.read("e", e, {{"red", Colour::red}, {"green", Colour::green}}));
  map.finish();
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(s, "text");
  EXPECT_TRUE(b);
  EXPECT_EQ(i, 8);
  EXPECT_EQ(d, 0.5);
  EXPECT_DOUBLE_EQ(t.si(), 2e-3);
  EXPECT_EQ(m.si(), 80e9);
  EXPECT_EQ(r.si(), 50e9);  // 400 gigabits are 50 gigabytes
  EXPECT_EQ(f.si(), 1e15);
  EXPECT_EQ(w.si(), 10e3);
  EXPECT_EQ(h.si(), 1e9);
  EXPECT_EQ(l, (std::vector<int>{1, 2}));
  EXPECT_EQ(e, Colour::green);
}

TEST(MapReader, AbsentAndNullFieldsKeepTheirDefault) {
  const Value value = parse("{a: null, other: 1}", "f");
  Faults faults;
  MapReader map(value, "", faults);
  int a = 7, b = 8;
  EXPECT_FALSE(map.read("a", a, 0, 10));
  EXPECT_FALSE(map.read("b", b, 0, 10));
  EXPECT_FALSE(map.has("a"));
  EXPECT_EQ(a, 7);
  EXPECT_EQ(b, 8);
  EXPECT_TRUE(faults.empty());
}

TEST(MapReader, BoundsBelongToTheRange) {
  const Value value = parse("{a: 0, b: 1, c: 8, d: 9}", "f");
  Faults faults;
  MapReader map(value, "", faults);
  int out = -1;
  EXPECT_FALSE(map.read("a", out, 1, 8));
  EXPECT_TRUE(map.read("b", out, 1, 8));
  EXPECT_TRUE(map.read("c", out, 1, 8));
  EXPECT_FALSE(map.read("d", out, 1, 8));
  EXPECT_EQ(faults.size(), 2u);
}

TEST(MapReader, WholeNumbersAreWrittenPlainly) {
  for (const char* text : {"8.0", "1e3", "8x", "0x10", "''", "[8]", "\"8\""}) {
    const Value value = parse(std::string("{a: ") + text + "}", "f");
    Faults faults;
    MapReader map(value, "", faults);
    int out = -1;
    EXPECT_FALSE(map.read("a", out, 0, 100'000)) << text;
    EXPECT_EQ(faults.size(), 1u) << text;
    EXPECT_EQ(out, -1) << text;
  }
}

TEST(MapReader, QuantitiesBeyondEveryMachineAreOutOfRange) {
  const Value value = parse("{a: 1e300TB, b: -1GB}", "f");
  Faults faults;
  MapReader map(value, "", faults);
  base::Bytes out;
  EXPECT_FALSE(map.read("a", out));
  EXPECT_FALSE(map.read("b", out));
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].what, "'1e300TB' is out of range");
  EXPECT_EQ(faults[1].what, "'-1GB' is negative");
}

TEST(MapReader, ARequiredFieldThatIsMissingIsAFault) {
  const Value value = parse("{b: 1}", "f");
  Faults faults;
  MapReader map(value, "node.nic", faults);
  int a = 0, b = 0;
  EXPECT_FALSE(map.require("a", a, 0, 10));
  EXPECT_TRUE(map.require("b", b, 0, 10));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].field, "node.nic.a");
  EXPECT_EQ(faults[0].what, "is missing");
  EXPECT_EQ(faults[0].mend, "add `a:` to node.nic");
}

TEST(MapReader, SourcesAreNoFields) {
  const Value value = parse("{a: 1, source: {table: 3}}", "f");
  Faults faults;
  MapReader map(value, "", faults);
  int a = 0;
  map.read("a", a, 0, 10);
  map.finish();
  EXPECT_TRUE(faults.empty());
}

TEST(MapReader, AFieldOfAListIsNamedByItsIndex) {
  const Value value = parse("{l: [1, x]}", "f");
  Faults faults;
  MapReader map(value, "s", faults);
  std::vector<int> l{5};
  EXPECT_FALSE(map.read("l", l, 0, 10));
  EXPECT_EQ(l, std::vector<int>{5});
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].field, "s.l[1]");
}

}  // namespace
}  // namespace config
