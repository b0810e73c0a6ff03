// tests/real/executor/values_test.cpp -- real/executor/values.h: when the tensors of a step go.
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/values.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using real::Issued;
using real::Site;
using real::Values;

constexpr Site kLayer{0, 0, 3}, kOther{0, 0, 4};

/// Operators 0 to 2 of call 7: the first makes a and b, the second reads a, the third looks whether b is there.
/// Names that are there behind each of them.
std::vector<std::string> step(Values& values) {
  std::vector<std::string> left;
  const auto run = [&](int at, auto body) {
    values.begin({7, at});
    body();
    values.end();
    std::string names;
    for (const char* name : {"a", "b"}) {
      Values look = values;  // looking is asking, too
      if (look.find(kLayer, name) != nullptr) names += name;
    }
    left.push_back(names);
  };
  run(0, [&] { values.at(kLayer, "a"), values.at(kLayer, "b"); });
  run(1, [&] { EXPECT_NE(values.find(kLayer, "a"), nullptr); });
  run(2, [&] { EXPECT_NE(values.find(kLayer, "b"), nullptr); });
  return left;
}

TEST(Values, GoBehindTheOperatorThatAskedLastInTheFirstStep) {
  Values values;
  values.learn(true);
  EXPECT_EQ(step(values), (std::vector<std::string>{"ab", "ab", "ab"}));  // until the pass is forgotten
  values.forget(0, 0);
  values.learn(false);
  EXPECT_EQ(step(values), (std::vector<std::string>{"ab", "b", ""}));
  EXPECT_EQ(step(values), (std::vector<std::string>{"ab", "b", ""}));
}

TEST(Values, AreKeptToTheEndWhereNothingIsLearned) {
  Values values;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(step(values), (std::vector<std::string>{"ab", "ab", "ab"}));
    values.clear();
  }
}

TEST(Values, ThoseThatAnOperatorDropsItselfAreItsOwn) {
  Values values;
  values.learn(true);
  values.begin({0, 0});
  values.at(kLayer, "a");
  values.erase(kLayer, "a");
  values.at(kLayer, "a");  // another one, which the next operator reads
  values.end();
  values.begin({0, 1});
  EXPECT_NE(values.find(kLayer, "a"), nullptr);
  values.end();
  values.clear();
  values.learn(false);
  values.begin({0, 0});
  values.at(kLayer, "a");
  values.end();
  EXPECT_NE(values.find(kLayer, "a"), nullptr);
}

TEST(Values, AllOfASiteAreAskedForByTheirNames) {
  Values values;
  values.learn(true);
  values.begin({0, 0});
  values.at(kLayer, "d x by up"), values.at(kLayer, "d y"), values.at(kOther, "d x by up");
  values.begin({0, 1});
  EXPECT_EQ(values.names(kLayer, "d x"), std::vector<std::string>{"d x by up"});
  values.erase_if(kLayer, [](const std::string&, const real::Value&) { return true; });  // a layer is left
  values.clear();
  values.learn(false);

  values.begin({0, 0});
  values.at(kLayer, "d x by up"), values.at(kLayer, "d y"), values.at(kOther, "d x by up");
  values.end();
  EXPECT_EQ(values.names(kLayer, ""), std::vector<std::string>{"d x by up"});  // nobody asks for the others
  EXPECT_TRUE(values.names(kOther, "").empty());
  values.begin({0, 1});
  values.end();
  EXPECT_TRUE(values.names(kLayer, "").empty());
}

}  // namespace
