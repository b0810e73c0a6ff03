// core/config/launch/shell_words.h -- the words of a shell script, near enough to find the options of a command in it:
// quotes, line continuations, comments, arrays, and variables that the script itself sets. Nothing is run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/fault.h"
#include "core/config/launch/shell_variables.h"

namespace config::launch {

struct ShellWord {
  std::string text;           // without quotes; a variable that is not set stays "$NAME"
  base::Where where;          // of a word out of a variable: where the script sets that
  bool ends_command = false;  // nothing but the end of a command; the text is empty
  bool conditional = false;   // of a branch that may be taken, or of a variable that is set there
};

struct ShellScript {
  std::optional<ShellWord> launch_blocking;  // CUDA_LAUNCH_BLOCKING where the last option stands
  std::vector<ShellWord> words;  // without branches that are never taken, and here-documents that are no scripts
  std::vector<ShellVariables::Replaced> replaced;
  std::set<std::string> arrays = {};  // names of those that it fills
  std::optional<ShellWord> nodes;     // of the job, by "#SBATCH --nodes"
};

/// "$@", "${@:2}", "$*": what the script is given.
bool is_arguments(const std::string& word);
/// Whether the text does not tell what options a word of a launch holds: a variable, or what a command tells, but not
/// the arguments of the script, nor an array that it fills.
bool may_hold_words(const std::string& word, const ShellScript&);

/// `name` stands for the file in places. `given`: variables that the script reads without setting them. A quote that
/// nothing closes is a base::InputError.
ShellScript shell_script(std::string_view text, const std::string& name, GivenVariables* given = nullptr);
std::vector<ShellWord> shell_words(std::string_view text, const std::string& name, GivenVariables* given = nullptr);

}  // namespace config::launch
