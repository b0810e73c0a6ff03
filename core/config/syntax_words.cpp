// SPDX-License-Identifier: Apache-2.0
#include "core/config/syntax_words.h"

#include <array>

namespace config {
namespace {

struct Row {
  std::string_view verdict;  // how yaml-cpp's message begins
  const char *what, *mend;
};

constexpr std::array kRows{
    Row{"end of sequence flow not found", "a list in [ ] is not closed, or lacks a comma",
        "put commas between the entries and ] behind the last"},
    Row{"end of map flow not found", "a map in { } is not closed, or lacks a comma",
        "put commas between the entries and } behind the last"},
    Row{"illegal map value", "a second colon, or an entry that is indented otherwise than its neighbours",
        "put a text that holds a colon in quotes; begin all entries of a map in one column"},
    Row{"illegal block entry", "a list entry stands where none may",
        "indent with spaces, not with tabs, and give each - a line of its own"},
    Row{"illegal tab", "a tab in the indentation", "indent with spaces"},
    Row{"the referenced anchor is not defined", "an alias (*name) has no anchor (&name) before it",
        "write the value out; a text that begins with * needs quotes"},
    Row{"unknown token", "no value may begin with this character", "put the text in quotes"},
    Row{"unknown escape character", "a backslash with a letter that means nothing",
        "use single quotes, in which a backslash is itself"},
    Row{"illegal EOF in scalar", "a quote is opened and never closed", "close the text with the same quote"},
    Row{"illegal document indicator in scalar", "a line --- or ... stands inside a quoted text",
        "close the quote before it"},
};

}  // namespace

SyntaxWords syntax_words(std::string_view verdict, std::string_view line) {
  // yaml-cpp takes a tab in front of a map's first entry for a blank, and stumbles over the colon behind it.
  if (line.starts_with('\t') && verdict.starts_with("illegal map value")) verdict = "illegal tab";
  for (const Row& row : kRows) {
    if (verdict.starts_with(row.verdict)) return {row.what, row.mend};
  }
  return {std::string(verdict), "look at this line and the one above: brackets, quotes, indentation, a missing colon"};
}

}  // namespace config
