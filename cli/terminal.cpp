// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace cli {
namespace {

constexpr int kLeast = 40, kMost = 1000;  // what is narrower or wider is no terminal's width

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int width() {
  const std::string_view asked = variable("COLUMNS");
  int columns = 0;
  std::from_chars(asked.data(), asked.data() + asked.size(), columns);
  winsize size{};
  if (columns == 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns < kLeast || columns > kMost ? reports::kColumns : columns;
}

bool wants_colour() {
  if (!variable("NO_COLOR").empty()) return false;
  const std::string_view forced = variable("CLICOLOR_FORCE");
  if (!forced.empty() && forced != "0") return true;
  return ::isatty(STDOUT_FILENO) == 1 && variable("TERM") != "dumb";
}

}  // namespace

reports::Style stdout_style() { return {width(), wants_colour()}; }

}  // namespace cli
