// tests/cli/docs_examples_test.cpp -- what docs/ say that commands print: a block that begins with "$ forerun" is run,
// and "..." stands for whatever is left out. FORERUN_REWRITE_GOLDEN=1 writes those anew that leave out one piece: their
// end, as many paragraphs as they have, or a middle, as many lines before and behind it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/run_forerun.h"

namespace {

using testing_support::content_of;
using testing_support::forerun;

const std::string kLeftOut = "...\n", kPrompt = "```\n$ forerun ";

struct Example {
  std::string arguments;  // behind "forerun"
  std::size_t begin = 0;  // of what it prints, in the page
  std::string printed;
};

std::vector<Example> examples_of(const std::string& page) {
  std::vector<Example> out;
  for (std::size_t at = 0; (at = page.find(kPrompt, at)) != page.npos;) {
    at += kPrompt.size();
    std::size_t end = page.find('\n', at);
    while (page[end - 1] == '\\') end = page.find('\n', end + 1);
    Example& one = out.emplace_back();
    one.arguments = page.substr(at, end - at);
    one.begin = end + 1;
    at = page.find("```\n", end);
    one.printed = page.substr(one.begin, at - one.begin);
  }
  return out;
}

/// At every line "...".
std::vector<std::string> parts_of(const std::string& printed) {
  std::vector<std::string> out(1);
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    if (line + '\n' == kLeftOut) {
      out.emplace_back();
    } else {
      out.back() += line + '\n';
    }
  }
  return out;
}

/// Whether the parts stand in the text in their order, the first at its begin and the last at its end.
bool is_said(const std::string& text, const std::vector<std::string>& parts) {
  if (!text.starts_with(parts.front()) || !text.ends_with(parts.back())) return false;
  std::size_t at = 0;
  for (const std::string& part : parts) {
    at = text.find(part, at);
    if (at == text.npos) return false;
    at += part.size();
  }
  return true;
}

/// So many paragraphs of the text as `like` has.
std::string as_much_of(const std::string& text, const std::string& like) {
  std::size_t end = 0, at = 0;
  while ((at = like.find("\n\n", at)) != like.npos) {
    ++at;
    end = text.find("\n\n", end) + 1;
  }
  return text.substr(0, text.find("\n\n", end) + 1);
}

/// Where the `count`-th line behind `from` begins.
std::size_t behind_lines(const std::string& text, std::ptrdiff_t count, std::size_t from = 0) {
  for (; count > 0; --count) from = text.find('\n', from) + 1;
  return from;
}

/// The text without its middle: as many lines of its begin and of its end as the parts have.
std::string without_middle(const std::string& text, const std::string& begin, const std::string& end) {
  const auto lines = [](const std::string& of) { return std::count(of.begin(), of.end(), '\n'); };
  return text.substr(0, behind_lines(text, lines(begin))) + kLeftOut +
         text.substr(behind_lines(text, lines(text) - lines(end)));
}

void expect_true_examples(const std::string& name) {
  const std::string path = std::string(FORERUN_SOURCE_DIR) + "/docs/" + name;
  std::string page = content_of(path);
  std::vector<Example> examples = examples_of(page);
  EXPECT_FALSE(examples.empty()) << name;
  for (std::size_t i = examples.size(); i-- > 0;) {  // from the last, so that places stay
    const Example& one = examples[i];
    const std::string text = forerun(one.arguments).out;
    const std::vector<std::string> parts = parts_of(one.printed);
    if (std::getenv("FORERUN_REWRITE_GOLDEN") && parts.size() == 1) {
      page.replace(one.begin, one.printed.size(), text);
    } else if (std::getenv("FORERUN_REWRITE_GOLDEN") && parts.size() == 2 && parts[1].empty()) {
      page.replace(one.begin, one.printed.size(), as_much_of(text, parts[0]) + kLeftOut);
    } else if (std::getenv("FORERUN_REWRITE_GOLDEN") && parts.size() == 2) {
      page.replace(one.begin, one.printed.size(), without_middle(text, parts[0], parts[1]));
    } else {
      EXPECT_TRUE(is_said(text, parts)) << "docs/" << name << ": forerun " << one.arguments << " now prints\n" << text;
    }
  }
  if (std::getenv("FORERUN_REWRITE_GOLDEN")) std::ofstream(path, std::ios::binary) << page;
}

TEST(DocsExamples, WhatIsLeftOutStandsBetweenWhatIsSaid) {
  const std::string text = "a\nb\n\nc\nd\n";
  EXPECT_TRUE(is_said(text, parts_of(text)));
  EXPECT_TRUE(is_said(text, parts_of("a\n...\nd\n")));
  EXPECT_TRUE(is_said(text, parts_of("a\nb\n...\n")));
  EXPECT_FALSE(is_said(text, parts_of("a\nb\n")));                    // is not all
  EXPECT_FALSE(is_said(text, parts_of("b\n...\n")));                  // is not the begin
  EXPECT_FALSE(is_said(text, parts_of("a\n...\nc\n...\nb\n...\n")));  // another order
  EXPECT_EQ(as_much_of(text, "x\n"), "a\nb\n");
  EXPECT_EQ(without_middle(text, "x\n", "y\nz\n"), "a\n...\nc\nd\n");
}

TEST(DocsExamples, OfNetwork) { expect_true_examples("network.md"); }
TEST(DocsExamples, OfExplain) { expect_true_examples("explain.md"); }
TEST(DocsExamples, OfPlan) { expect_true_examples("plan.md"); }
TEST(DocsExamples, OfSearch) { expect_true_examples("search.md"); }
TEST(DocsExamples, OfScale) { expect_true_examples("scale.md"); }

}  // namespace
