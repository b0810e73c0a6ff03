// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/cli/run_forerun.h"

namespace {

using testing_support::Answer;
using testing_support::contains;
using testing_support::content_of;
using testing_support::forerun;
using testing_support::ScratchFolder;

bool is_there(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

/// What bash would offer for the last of these words, as one line.
std::string bash_offers(const std::string& words) {
  const ScratchFolder folder;
  std::ofstream(folder / "script") << forerun("completion bash").out;
  std::ofstream(folder / "run") << "source " << (folder / "script") << "\nCOMP_WORDS=('" << FORERUN_BINARY << "' "
                                << words
                                << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_forerun\necho \"${COMPREPLY[*]}\"\n";
  const std::string command = "bash '" + (folder / "run") + "' >'" + (folder / "out") + "' 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::string out = content_of(folder / "out");
  if (!out.empty()) out.pop_back();
  return out;
}

TEST(Completion, OfBashOffersSubcommandsOptionsAndTheirValues) {
  EXPECT_EQ(bash_offers("pre"), "predict");
  EXPECT_EQ(bash_offers("predict --prec"), "--precision");
  EXPECT_EQ(bash_offers("predict --schedule zb"), "zb-h1 zb-h2 zb-v");
  EXPECT_EQ(bash_offers("help sho"), "show");
}

TEST(Completion, OfBashOffersNamesOfTheCatalogue) {
  EXPECT_EQ(bash_offers("predict --model llama3-7"), "llama3-70b");
  EXPECT_EQ(bash_offers("predict --model = llama3-7"), "llama3-70b");  // --model=llama3-7, as bash cuts it
  EXPECT_EQ(bash_offers("show dgx-b2"), "dgx-b200");
  EXPECT_EQ(bash_offers("predict --quiet mixtral"), "mixtral-8x7b-64xh100");  // a flag takes no value
}

TEST(Completion, OfBashOffersNothingForANumber) { EXPECT_EQ(bash_offers("predict --tp ''"), ""); }

TEST(Completion, OfFishOffersTheSame) {
  if (!is_there("fish")) GTEST_SKIP() << "there is no fish";
  const ScratchFolder folder;
  std::ofstream(folder / "forerun.fish") << forerun("completion fish").out;
  const std::string command = "fish --no-config -c 'source " + (folder / "forerun.fish") +
                              "; complete -C\"forerun pre\"; complete -C\"forerun predict --schedule zb-h\"' >'" +
                              (folder / "out") + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string offered = content_of(folder / "out");
  EXPECT_TRUE(contains(offered, "predict\tPredicts the time")) << offered;
  EXPECT_TRUE(contains(offered, "\nzb-h1")) << offered;
}

TEST(Completion, OfZshIsReadByZsh) {
  if (!is_there("zsh")) GTEST_SKIP() << "there is no zsh";
  const ScratchFolder folder;
  std::ofstream(folder / "_forerun") << forerun("completion zsh").out;
  EXPECT_EQ(std::system(("zsh -n '" + (folder / "_forerun") + "'").c_str()), 0);
}

TEST(Completion, OfEveryShellHasEveryOptionOfPredict) {
  const std::string help = forerun("predict --help").out;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Answer run = forerun(std::string("completion ") + shell);
    EXPECT_EQ(run.exit_code, 0);
    for (const char* option : {"json", "precision", "set", "unfold"}) {
      ASSERT_TRUE(contains(help, std::string("--") + option));
      const std::string dashed = shell == std::string("fish") ? "-l " : "--";
      EXPECT_TRUE(contains(run.out, dashed + option)) << shell << ' ' << option;
    }
  }
}

TEST(Completion, AnUnknownShellOffersTheNearest) {
  const Answer run = forerun("completion bsh");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err, "error: SHELL: there is no script for 'bsh'\n  mend: did you mean bash?\n");
}

}  // namespace
