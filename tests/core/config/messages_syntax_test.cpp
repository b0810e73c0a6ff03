// tests/core/config/messages_syntax_test.cpp -- what users are told of files that cannot be taken apart,
// word for word.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/core/config/messages.h"

namespace config::testing {
namespace {

using SyntaxMessages = MessageTest;

TEST_F(SyntaxMessages, AnEmptyFileIsNoJob) {
  EXPECT_EQ(of_text("# nothing but this\n"),
            "job.yaml: error: is empty\n"
            "  mend: write `key: value` entries into it");
}

TEST_F(SyntaxMessages, OneFileHoldsOneDocument) {
  EXPECT_EQ(of_text("model: small\n---\nmodel: large\n"),
            "job.yaml:3:1: error: a second document starts\n"
            "  mend: keep one document in a file: remove the line ---");
}

TEST_F(SyntaxMessages, AQuoteLeftOpenAtTheEndIsFoundWhereItBegins) {
  // yaml-cpp 0.7 would take the end of the file for the closing quote.
  EXPECT_EQ(of_text("model: small\nname: \"my job\ncluster: {node: box-8}\n"),
            "job.yaml:2:7: error: a quote is opened here and never closed\n"
            "  mend: close the text with the same quote");
}

TEST_F(SyntaxMessages, ASingleQuoteLeftOpenIsFoundToo) {
  EXPECT_EQ(of_text("model: small\nnotes: it is 'open\nmore: 'open\n"),
            "job.yaml:3:7: error: a quote is opened here and never closed\n"
            "  mend: close the text with the same quote");
}

TEST_F(SyntaxMessages, AQuoteThatRunsIntoTheNextDocument) {
  EXPECT_EQ(of_text("a: \"open\n---\nb: 1\n"),
            "job.yaml:2:1: error: is not YAML: a line --- or ... stands inside a quoted text\n"
            "  mend: close the quote before it");
}

TEST_F(SyntaxMessages, AMapLeftOpen) {
  EXPECT_EQ(of_text("strategy: {tp: 2\ntraining: {}\n"),
            "job.yaml:2:9: error: is not YAML: a map in { } is not closed, or lacks a comma\n"
            "  mend: put commas between the entries and } behind the last");
}

TEST_F(SyntaxMessages, AListWithoutItsComma) {
  EXPECT_EQ(of_text("stage_layers: [5 6, 7\n"),
            "job.yaml:2:1: error: is not YAML: a list in [ ] is not closed, or lacks a comma\n"
            "  mend: put commas between the entries and ] behind the last");
}

TEST_F(SyntaxMessages, AColonWithoutItsSpace) {
  EXPECT_EQ(of_text("strategy: {pp: 2, tp:8}\n"),
            "job.yaml:1:19: error: 'tp:8' has no space behind its colon\n"
            "  mend: write tp: 8");
  EXPECT_EQ(of_text("notes: {'tp:8': , b: http://c}\n"), "no fault");  // a key in quotes, and a text behind one
}

TEST_F(SyntaxMessages, AKeyWithAControlCharacter) {
  EXPECT_EQ(of_text("{\"a\\u0000b\": 1}", "job.json"),
            "job.json:1:2: error: a key holds a control character: 'a\\x00b'\n"
            "  mend: write it without");
}

TEST_F(SyntaxMessages, ATabInFrontOfTheFirstEntry) {
  EXPECT_EQ(of_text("model: small\ncluster:\n\tnode: small\n"),
            "job.yaml:3:6: error: is not YAML: a tab in the indentation\n  mend: indent with spaces");
}

TEST_F(SyntaxMessages, AnEntryThatIsIndentedOtherwise) {
  EXPECT_EQ(of_text("model: small\n  strategy: {}\n"),
            "job.yaml:2:11: error: is not YAML: a second colon, or an entry that is indented otherwise than its "
            "neighbours\n"
            "  mend: put a text that holds a colon in quotes; begin all entries of a map in one column");
}

TEST_F(SyntaxMessages, ATabInTheIndentation) {
  EXPECT_EQ(of_text("stage_layers:\n\t- 5\n"),
            "job.yaml:2:2: error: is not YAML: a list entry stands where none may\n"
            "  mend: indent with spaces, not with tabs, and give each - a line of its own");
}

TEST_F(SyntaxMessages, AnAliasOfNothing) {
  EXPECT_EQ(of_text("model: *mine\n"),
            "job.yaml:1:8: error: is not YAML: an alias (*name) has no anchor (&name) before it\n"
            "  mend: write the value out; a text that begins with * needs quotes");
}

TEST_F(SyntaxMessages, AValueThatNeedsQuotes) {
  EXPECT_EQ(of_text("model: @small\n"),
            "job.yaml:1:8: error: is not YAML: no value may begin with this character\n"
            "  mend: put the text in quotes");
}

TEST_F(SyntaxMessages, AKeyTwice) {
  EXPECT_EQ(of_text("model: small\ncluster: {}\nmodel: large\n"),
            "job.yaml:3:1: error: model: is written twice in one map\n"
            "  mend: keep one of the two; the first is in line 1");
}

TEST_F(SyntaxMessages, BytesThatAreNoText) {
  // A file saved as UTF-16 has a zero in every other byte.
  EXPECT_EQ(of_text(std::string("m\0o\0", 4)),
            "job.yaml:1:2: error: holds bytes that are no text\n"
            "  mend: save the file as UTF-8 text");
}

TEST_F(SyntaxMessages, AJsonFileWithoutAComma) {
  EXPECT_EQ(of_text("{\n  \"layers\": 2\n  \"hidden\": 8\n}\n", "config.json"),
            "config.json:3:11: error: is not JSON: a map in { } is not closed, or lacks a comma\n"
            "  mend: put commas between the entries and } behind the last");
}

TEST_F(SyntaxMessages, AJsonFileWithACommaTooMany) {
  EXPECT_EQ(of_text("{\"layers\": 2,, \"hidden\": 8}\n", "config.json"),
            "config.json:1:14: error: an entry has no key\n"
            "  mend: write a word before the colon");
}

TEST_F(SyntaxMessages, AJsonFileThatBreaksOff) {
  EXPECT_EQ(of_text("{\"layers\": 2,\n", "config.json"),
            "config.json:1:1: error: a bracket is not closed, or a list or a map stands where a key belongs\n"
            "  mend: close every bracket, and write a word before each colon");
}

TEST_F(SyntaxMessages, AFileThatIsNotThere) {
  EXPECT_EQ(of_file("/no/such/job.yaml"),
            "/no/such/job.yaml: error: cannot be read: No such file or directory\n"
            "  mend: name a YAML or JSON file that exists and may be read");
}

TEST_F(SyntaxMessages, AFolderIsNoFile) {
  EXPECT_EQ(of_file("/"),
            "/: error: cannot be read: it is a folder\n"
            "  mend: name a YAML or JSON file that exists and may be read");
}

}  // namespace
}  // namespace config::testing
