// core/config/launch/shell_condition.h -- whether what a script asks is true, where its text tells.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace config::launch {

/// Whether the words ask for a truth, as "[", "[[", "test", "true" and "false" do.
bool asks_for_truth(const std::vector<std::string>& words);

/// The truth of "[ 2 -lt 3 ]", "[[ a == b && ! -z x ]]", "test -z x" or "true", one word each; nothing where a word
/// that decides still has a "$", or another question is asked.
std::optional<bool> shell_condition(const std::vector<std::string>& words);

/// Commands with "&&" and "||" between them: what an if asks, or a line of its own.
class ShellList {
 public:
  /// The command that has ended, and whether it succeeds; nothing: not known. `join`: '&', '|' or ';' behind it.
  void add(std::optional<bool> truth, char join);
  /// It holds what is not read here: nothing is known of it, and its commands are read as if they ran.
  void lose() { simple_ = false; }

  std::optional<bool> truth() const { return simple_ ? status_ : std::nullopt; }
  /// Whether the command that comes is run; nothing: perhaps.
  std::optional<bool> runs() const;

 private:
  bool simple_ = true;
  char join_ = ';';             // in front of the command that comes
  std::optional<bool> status_;  // of those that have ended
};

}  // namespace config::launch
