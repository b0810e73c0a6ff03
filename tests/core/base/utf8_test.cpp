// tests/core/base/utf8_test.cpp -- tests core/base/utf8.h. SPDX-License-Identifier: Apache-2.0
#include "core/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace {

TEST(Utf8, CharactersOfOneToFourBytesAreText) {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\n";  // a, e acute, euro, a face
  EXPECT_EQ(base::first_that_is_no_text(text), text.size());
  EXPECT_EQ(base::first_that_is_no_text(""), 0u);
  EXPECT_EQ(base::first_that_is_no_text("\xf4\x8f\xbf\xbf"), 4u);  // U+10FFFF, the last
}

TEST(Utf8, WhatIsNoneIsFoundWhereItBegins) {
  const auto at = [](std::string_view text) { return base::first_that_is_no_text(text); };
  EXPECT_EQ(at(std::string_view("ab\0c", 4)), 2u);
  EXPECT_EQ(at("Mod\xe8le"), 3u);         // Latin-1
  EXPECT_EQ(at("a\x80"), 1u);             // begins with a byte that goes on
  EXPECT_EQ(at("ab\xe2\x82"), 2u);        // ends within a character
  EXPECT_EQ(at("\xc0\xaf"), 0u);          // "/" in two bytes
  EXPECT_EQ(at("\xe0\x80\xaf"), 0u);      // and in three
  EXPECT_EQ(at("\xed\xa0\x80"), 0u);      // a surrogate
  EXPECT_EQ(at("\xf4\x90\x80\x80"), 0u);  // U+110000
  EXPECT_EQ(at("\xff"), 0u);
}

TEST(Utf8, LineBreaksTabsAndEscapesAreControls) {
  for (const char c : {'\n', '\r', '\t', '\x1b', '\x7f'}) EXPECT_TRUE(base::is_control(c));
  for (const char c : {' ', '~', '\xc3'}) EXPECT_FALSE(base::is_control(c));
}

}  // namespace
