// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace cli {
namespace {

constexpr int kLeast = 40, kMost = 1000;  // what is narrower or wider is no terminal's width

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int width(int stream) {
  const std::string_view asked = variable("COLUMNS");
  int columns = 0;
  std::from_chars(asked.data(), asked.data() + asked.size(), columns);
  winsize size{};
  if (columns == 0 && ::ioctl(stream, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns < kLeast || columns > kMost ? reports::kColumns : columns;
}

bool wants_colour(int stream) {
  if (!variable("NO_COLOR").empty()) return false;
  const std::string_view forced = variable("CLICOLOR_FORCE");
  if (!forced.empty() && forced != "0") return true;
  return ::isatty(stream) == 1 && variable("TERM") != "dumb";
}

}  // namespace

reports::Style stdout_style() { return {width(STDOUT_FILENO), wants_colour(STDOUT_FILENO)}; }
reports::Style stderr_style() { return {width(STDERR_FILENO), wants_colour(STDERR_FILENO)}; }

std::string inked_faults(const std::string& text, const reports::Style& style) {
  constexpr std::string_view kError = "error:", kMend = "  mend:";
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t error = line.find(kError);
    if (line.starts_with(kMend)) {
      line.replace(0, kMend.size(), reports::inked(kMend, reports::Ink::cyan, style));
    } else if (error != line.npos) {  // behind the file, line and column
      line.replace(error, kError.size(), reports::inked(kError, reports::Ink::red, style));
    }
    out += line + '\n';
  }
  return out;
}

}  // namespace cli
