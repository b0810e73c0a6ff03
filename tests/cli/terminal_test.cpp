// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <sstream>

#include "reports/layout.h"
#include "tests/cli/run_forerun.h"

namespace {

using testing_support::Answer;
using testing_support::contains;
using testing_support::content_of;
using testing_support::forerun;
using testing_support::ScratchFolder;

const char kDraw[] = "show schedule llama3-8b-32xh200";

/// forerun's exit, and what it wrote, under these variables of the environment alone.
std::string written(const std::string& environment, const std::string& to = "") {
  const ScratchFolder folder;
  const std::string target = to.empty() ? folder / "out" : to;
  const std::string command = "env -u COLUMNS -u NO_COLOR -u CLICOLOR_FORCE TERM=xterm " + environment +
                              " '" FORERUN_BINARY "' " + kDraw + " >'" + target + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  return to.empty() ? content_of(target) : "";
}

int widest(const std::string& text) {
  int out = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    out = std::max(out, reports::columns(line));
  }
  return out;
}

bool has_colour(const std::string& text) { return contains(text, "\033["); }

/// What is written on a terminal of that many columns.
std::string on_terminal(int columns, const std::string& environment) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_GE(master, 0);
  EXPECT_EQ(::grantpt(master) | ::unlockpt(master), 0);
  const std::string name = ::ptsname(master);
  const int slave = ::open(name.c_str(), O_RDWR | O_NOCTTY);  // held, so that what was written is there to be read
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = 40;
  EXPECT_EQ(::ioctl(slave, TIOCSWINSZ, &size), 0);
  written(environment, name);
  EXPECT_EQ(::fcntl(master, F_SETFL, O_NONBLOCK), 0);
  std::string out;
  char block[4096];
  for (ssize_t n; (n = ::read(master, block, sizeof block)) > 0;) out.append(block, static_cast<std::size_t>(n));
  ::close(slave);
  ::close(master);
  return out;
}

TEST(Terminal, WithoutOneTextHasAHundredColumnsAndNoColour) {
  const std::string text = written("");
  EXPECT_EQ(widest(text), 100);
  EXPECT_FALSE(has_colour(text));
}

TEST(Terminal, ColumnsAreAsked) {
  EXPECT_EQ(widest(written("COLUMNS=72")), 72);
  EXPECT_EQ(widest(written("COLUMNS=7")), 100);  // no terminal is that narrow
  EXPECT_EQ(widest(written("COLUMNS=many")), 100);
}

TEST(Terminal, ColourIsForcedUnlessItIsForbidden) {
  EXPECT_TRUE(has_colour(written("CLICOLOR_FORCE=1")));
  EXPECT_FALSE(has_colour(written("CLICOLOR_FORCE=0")));
  EXPECT_FALSE(has_colour(written("CLICOLOR_FORCE=1 NO_COLOR=1")));
}

TEST(Terminal, AFaultIsToldInColourWhereItIsWanted) {
  const ScratchFolder folder;
  const auto told = [&](const std::string& environment) {
    const std::string command = "env -u NO_COLOR -u CLICOLOR_FORCE " + environment +
                                " '" FORERUN_BINARY "' list modles 2>'" + (folder / "err") + "'";
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
    return content_of(folder / "err");
  };
  EXPECT_EQ(told("TERM=xterm"), "error: KIND: there is no kind 'modles'\n  mend: did you mean models?\n");
  EXPECT_EQ(told("CLICOLOR_FORCE=1"),
            "\033[31merror:\033[0m KIND: there is no kind 'modles'\n\033[36m  mend:\033[0m did you mean models?\n");
}

TEST(Terminal, OnOneTextHasItsWidthAndColour) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0) GTEST_SKIP() << "this machine gives no terminals";
  ::close(master);
  const std::string text = on_terminal(80, "");
  EXPECT_TRUE(has_colour(text)) << text;
  EXPECT_EQ(widest(on_terminal(80, "NO_COLOR=1")), 80);
  EXPECT_FALSE(has_colour(on_terminal(80, "NO_COLOR=1")));
  EXPECT_FALSE(has_colour(on_terminal(80, "TERM=dumb")));
}

}  // namespace
