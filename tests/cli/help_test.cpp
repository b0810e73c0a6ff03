// tests/cli/help_test.cpp -- what every subcommand tells of itself: examples that run, and a manual page.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>

#include "core/spec/search_space.h"
#include "reports/layout.h"
#include "tests/cli/run_forerun.h"

namespace {

using testing_support::Answer;
using testing_support::contains;
using testing_support::content_of;
using testing_support::forerun;
using testing_support::ScratchFolder;

std::string on_columns(int columns, const std::string& arguments) {
  setenv("COLUMNS", std::to_string(columns).c_str(), 1);
  const std::string out = forerun(arguments).out;
  unsetenv("COLUMNS");
  return out;
}

/// An option a line, whatever the terminal.
std::string help(const std::string& subcommand) { return on_columns(1000, subcommand + " --help"); }

int widest(const std::string& text) {
  std::istringstream lines(text);
  int out = 0;
  for (std::string line; std::getline(lines, line);) out = std::max(out, reports::columns(line));
  return out;
}

/// As `forerun --help` lists them.
std::vector<std::string> subcommands() {
  std::istringstream lines(help(""));
  std::vector<std::string> out;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) out.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return out;
}

struct Example {
  std::string arguments, does;
};

std::vector<Example> examples(const std::string& subcommand) {
  std::istringstream lines(help(subcommand));
  std::vector<Example> out;
  bool begun = false;
  for (std::string line; std::getline(lines, line);) {
    const std::string begin = "  forerun ";
    if (begun && line.starts_with(begin)) {
      Example& example = out.emplace_back();
      example.arguments = line.substr(begin.size());
      std::getline(lines, example.does);
    }
    begun |= line == "examples:";
  }
  return out;
}

/// What needs something first says so in its description.
bool runs(const Example& example) {
  const std::size_t needs = example.does.find("(needs ");
  return needs == example.does.npos || example.does.substr(needs) == "(needs the source tree)";
}

TEST(Help, EverySubcommandHasExamples) {
  const auto all = subcommands();
  EXPECT_GE(all.size(), 13u);
  for (const std::string& subcommand : all) EXPECT_FALSE(examples(subcommand).empty()) << subcommand;
}

TEST(Help, FitsANarrowTerminal) {
  std::vector<std::string> all = subcommands();
  all.push_back("");
  for (const std::string& subcommand : all) {
    for (const int columns : {80, 60}) {
      const std::string text = on_columns(columns, subcommand + " --help");
      EXPECT_LE(widest(text), columns) << text;
      EXPECT_GT(text.size(), 300u) << subcommand;
    }
  }
}

TEST(Help, AnEntryOfTheCatalogueFitsANarrowTerminal) {
  for (const int columns : {80, 60}) {
    for (const char* entry : {"show dgx-h100", "show megatron", "show calibrations/h100-sxm"}) {
      EXPECT_LE(widest(on_columns(columns, entry)), columns) << entry;
    }
  }
}

TEST(Help, ExamplesAreAnswered) {
  const ScratchFolder folder;  // some write files
  std::filesystem::create_directory_symlink(FORERUN_SOURCE_DIR "/validation", folder / "validation");
  const std::string go = "cd '" + (folder / "") + "' && '" FORERUN_BINARY "' ";
  int count = 0;
  for (const std::string& subcommand : subcommands()) {
    for (const Example& example : examples(subcommand)) {
      if (!runs(example)) continue;
      ++count;
      // "Does not fit" is an answer, too.
      const int status = std::system((go + example.arguments + " >out 2>err").c_str());
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1) << example.arguments << '\n'
                                                                 << content_of(folder / "err");
    }
  }
  EXPECT_GE(count, 20);
}

TEST(Help, OfSearchNamesEveryKeyThatIsSearchedAndSomeThatAreNot) {
  const std::string text = help("search");
  const std::size_t begin = text.find("Searched: ");
  ASSERT_NE(begin, text.npos) << text;
  const std::string searched = text.substr(begin + 9, text.find('(', begin) - begin - 9);
  for (const std::string_view key : spec::kSearchKeyNames) {
    EXPECT_TRUE(contains(searched, ' ' + std::string(key) + ' ')) << key << " in" << searched;
  }
  for (const char* other : {"cuda_graphs", "compile", "fused_kernels"}) {
    EXPECT_FALSE(contains(searched, other)) << other;
    EXPECT_TRUE(contains(text, other)) << other;
  }
}

TEST(ManualPage, HasASectionForEverySubcommandAndEveryOptionOnce) {
  const Answer run = forerun("help --man");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(run.out.starts_with(".TH FORERUN 1 ")) << run.out.substr(0, 80);
  for (const std::string& subcommand : subcommands()) {
    EXPECT_TRUE(contains(run.out, "\n.SS \"forerun " + subcommand)) << subcommand;
  }
  // Who takes all options of a job says so; who takes some of them names these.
  const std::string tp = "\n.B \\-\\-tp N\ntensor parallel\n", all = "It also takes the options of a job, below.";
  const auto section = [&](const std::string& of) {
    const std::size_t begin = run.out.find("\n.SS \"forerun " + of + ' ');
    return run.out.substr(begin, run.out.find("\n.S", begin + 1) - begin);
  };
  EXPECT_TRUE(contains(section("predict"), all));
  EXPECT_FALSE(contains(section("predict"), tp));
  EXPECT_FALSE(contains(section("validate"), all));
  EXPECT_TRUE(contains(section("validate"), "html"));
  EXPECT_TRUE(contains(section("plan"), "\\-\\-sequence"));
  EXPECT_TRUE(contains(run.out.substr(run.out.find(".SH OPTIONS OF A JOB")), tp));
}

TEST(ManualPage, NoLineOfTextIsTakenForARequest) {
  std::istringstream lines(forerun("help --man").out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_FALSE(line.empty());
    if (!line.starts_with('.')) continue;
    const std::string request = line.substr(0, line.find(' '));
    EXPECT_TRUE(request == ".TH" || request == ".SH" || request == ".SS" || request == ".TP" || request == ".B" ||
                request == ".I" || request == ".PP" || request == ".ad" || request == ".nh")
        << line;
  }
}

TEST(ManualPage, GroffHasNothingToSay) {
  if (std::system("command -v groff >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no groff";
  const ScratchFolder folder;
  const std::string command = "'" FORERUN_BINARY "' help --man | groff -man -Tutf8 -ww >'" + (folder / "page") +
                              "' 2>'" + (folder / "warnings") + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(content_of(folder / "warnings"), "");
  EXPECT_TRUE(contains(content_of(folder / "page"), "know the training step before you run it"));
}

}  // namespace
