// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <sstream>

#include "cli/completion.h"

namespace cli {
namespace {

std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + '\'';
}

/// " -F -a '(forerun list jobs)'": files only where <files> are offered.
std::string offered(const std::string& offers) {
  std::string words;
  bool files = false;
  std::istringstream all(offers);
  for (std::string word; all >> word;) {
    if (word == "<files>") {
      files = true;
    } else if (word.front() == '<') {
      words +=
          (words.empty() ? "" : " ") + fmt::format("(forerun list {} 2>/dev/null)", word.substr(1, word.size() - 2));
    } else {
      words += (words.empty() ? "" : " ") + word;
    }
  }
  return (files ? " -F" : " -f") + (words.empty() ? "" : " -a " + fish_quoted(words));
}

std::string fish_lines(const Command& command) {
  const std::string seen = fmt::format("complete -c forerun -n '__fish_seen_subcommand_from {}'", command.name);
  std::string out = fmt::format("\ncomplete -c forerun -n __fish_use_subcommand -a {} -d {}\n", command.name,
                                fish_quoted(command.summary));
  const std::string operands = offers_of(command.operands);
  if (!operands.empty()) out += seen + offered(operands) + '\n';
  for (const Option& option : command.options) {
    out += fmt::format("{} -l {}{} -d {}\n", seen, option.name.substr(2),
                       option.value.empty() ? "" : " -r" + offered(offers_of(option)), fish_quoted(option.help));
  }
  return out;
}

}  // namespace

std::string fish_completion(const std::vector<const Command*>& commands) {
  std::string out =
      "# fish completion of forerun; made by `forerun completion fish`.\n"
      "complete -c forerun -f\n"
      "complete -c forerun -l help -d 'shows options and examples'\n"
      "complete -c forerun -n __fish_use_subcommand -l version -d 'shows the version'\n";
  for (const Command* command : commands) out += fish_lines(*command);
  return out;
}

}  // namespace cli
