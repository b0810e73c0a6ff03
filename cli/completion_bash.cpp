// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <set>

#include "cli/completion.h"

namespace cli {
namespace {

constexpr char kOffer[] = R"sh(# bash completion of forerun; made by `forerun completion bash`.

# _forerun_offer CURRENT WORD...: adds what begins like CURRENT.
_forerun_offer() {
  local current=$1 word words=
  shift
  for word; do
    case $word in
      '<files>')
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
        ;;
      '<'*'>')
        word=${word#<}
        words+=" $("${COMP_WORDS[0]}" list "${word%>}" 2>/dev/null)"
        ;;
      *) words+=" $word" ;;
    esac
  done
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$words" -- "$current")
}

_forerun() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  if [[ $current == = ]]; then  # --model=: bash takes the sign for a word
    current=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
)sh";

constexpr char kBashEnd[] = R"sh(
complete -F _forerun forerun
)sh";

std::string options_of(const Command& command) {
  std::string out;
  for (const Option& option : command.options) out += option.name + ' ';
  return out + "--help";
}

/// 'one' 'two'
std::string bash_quoted(const std::string& words) {
  std::string out = "'";
  for (const char c : words) out += c == ' ' ? std::string("' '") : std::string(1, c);
  return out + '\'';
}

/// What each value offers, options of equal offers together: `*:--model) ...`, or `import:--gpus | ...` where
/// subcommands differ.
std::string values(const std::vector<const Command*>& commands) {
  std::map<std::string, std::set<std::string>> offers_by_name, patterns;
  for (const Command* command : commands) {
    for (const Option& option : command->options) offers_by_name[option.name].insert(offers_of(option));
  }
  for (const Command* command : commands) {
    for (const Option& option : command->options) {
      if (option.value.empty()) continue;
      const bool alike = offers_by_name[option.name].size() == 1;
      patterns[offers_of(option)].insert((alike ? "*" : command->name) + ':' + option.name);
    }
  }
  std::string out;
  for (const auto& [offers, names] : patterns) {
    out += fmt::format("    {})\n{}      return\n      ;;\n", fmt::join(names, " | "),
                       offers.empty() ? "" : "      _forerun_offer \"$current\" " + bash_quoted(offers) + '\n');
  }
  return out;
}

std::string operands(const Command& command) {
  const std::string offers = offers_of(command.operands);
  return fmt::format(
      "    {})\n      if [[ $current == -* ]]; then\n        _forerun_offer \"$current\" {}\n      else\n        "
      "{}\n      fi\n      ;;\n",
      command.name, options_of(command), offers.empty() ? ":" : "_forerun_offer \"$current\" " + bash_quoted(offers));
}

}  // namespace

std::string bash_completion(const std::vector<const Command*>& commands) {
  std::string names = "help", each;
  for (const Command* command : commands) {
    names += ' ' + command->name;
    each += operands(*command);
  }
  return std::string(kOffer) +
         fmt::format(
             "  if ((COMP_CWORD == 1)); then\n    _forerun_offer \"$current\" {} --help --version\n    return\n  "
             "fi\n  case $command:$before in\n{}  esac\n  case $command in\n    help)\n      _forerun_offer "
             "\"$current\" --man {}\n      ;;\n{}  esac\n}}\n",
             names, values(commands), names, each) +
         kBashEnd;
}

}  // namespace cli
