// SPDX-License-Identifier: Apache-2.0
#include "reports/html/escape.h"

#include <gtest/gtest.h>

namespace {

using reports::Json;
using reports::html::escaped;
using reports::html::script_json;
using reports::html::script_string;

TEST(HtmlEscape, NoCharacterOfMarkupIsLeft) {
  EXPECT_EQ(escaped("<script>\"a\" & 'b'</script>"), "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/script&gt;");
}

TEST(HtmlEscape, WhatIsEscapedAlreadyIsText) { EXPECT_EQ(escaped("&lt;"), "&amp;lt;"); }

TEST(HtmlEscape, OtherTextStays) { EXPECT_EQ(escaped("Größe 5 µs, 80 %\n"), "Größe 5 µs, 80 %\n"); }

TEST(HtmlEscape, BytesThatAreNoUtf8AndControlCharactersBecomeTheReplacement) {
  EXPECT_EQ(escaped("a\xff"
                    "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(escaped(std::string("a\0b\x1b", 4)),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

TEST(HtmlEscape, JsonInAScriptHoldsNothingThatEndsIt) {
  const Json hostile{{"</script><!--", "<script>"}};
  const std::string text = script_json(hostile);
  EXPECT_EQ(text.find('<'), text.npos);
  EXPECT_EQ(Json::parse(text), hostile);  // and reads as what it was
  EXPECT_EQ(script_string("</script>"), R"("\u003c/script>")");
}

}  // namespace
