// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/completion.h"

namespace cli {
namespace {

constexpr char kBegin[] = R"sh(#compdef forerun
# zsh completion of forerun; made by `forerun completion zsh`.

# _forerun_offer WORD...: words, <files>, or <models>, which the catalogue names.
_forerun_offer() {
  local word
  local -a names
  for word in "$@"; do
    case $word in
      '<files>') _files ;;
      '<'*'>') names+=(${(f)"$(_call_program names forerun list ${${word#<}%>} 2>/dev/null)"}) ;;
      *) names+=($word) ;;
    esac
  done
  compadd -a names
}

_forerun() {
  local -a commands
)sh";

constexpr char kZshEnd[] = R"sh(  esac
}

_forerun "$@"
)sh";

/// Within single quotes of the shell.
std::string zsh_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + '\'';
}

/// Where [] and : end a part.
std::string zsh_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// What completes a value; a message alone where nothing is offered.
std::string action(const std::string& offers) {
  if (offers.empty()) return " ";
  std::string words;
  for (const char c : offers) words += c == ' ' ? std::string("\" \"") : std::string(1, c);
  return "_forerun_offer \"" + words + '"';
}

std::string option_line(const Option& option) {
  std::string out = option.repeatable ? "*" : "";
  out += option.name + (option.value.empty() ? "" : "=") + '[' + zsh_escaped(option.help) + ']';
  if (!option.value.empty()) out += ':' + zsh_escaped(option.value) + ':' + action(offers_of(option));
  return "        " + zsh_quoted(out) + " \\\n";
}

std::string zsh_lines(const Command& command) {
  std::string out = fmt::format("    {})\n      _arguments \\\n", command.name);
  for (const Option& option : command.options) out += option_line(option);
  const std::string offers = offers_of(command.operands);
  if (!offers.empty())
    out += "        " + zsh_quoted("*:" + command.operands.front().name + ':' + action(offers)) + " \\\n";
  return out + "        " + zsh_quoted("--help[" + zsh_escaped("shows options and examples") + ']') + "\n      ;;\n";
}

}  // namespace

std::string zsh_completion(const std::vector<const Command*>& commands) {
  std::string described, names, each;
  for (const Command* command : commands) {
    described += "    " + zsh_quoted(command->name + ':' + zsh_escaped(command->summary)) + '\n';
    names += command->name + ' ';
    each += zsh_lines(*command);
  }
  return std::string(kBegin) +
         fmt::format(
             "  commands=(\n{}  )\n  if ((CURRENT == 2)); then\n    _describe subcommand commands\n    return\n  "
             "fi\n  shift words\n  ((CURRENT--))\n  case $words[1] in\n    help) compadd -- {}--man ;;\n{}",
             described, names, each) +
         kZshEnd;
}

}  // namespace cli
