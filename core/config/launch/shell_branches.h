// core/config/launch/shell_branches.h -- which branch of an if a script takes, where what it asks is known from the
// text. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace config::launch {

/// The truth of "[ 2 -lt 3 ]", "[[ a == b && ! -z x ]]", "test -z x" or "true", one word each; nothing where a word
/// that decides still has a "$", or another question is asked.
std::optional<bool> shell_condition(const std::vector<std::string>& words);

/// What an if asks: commands that tell a truth, with "&&" and "||" between them.
class ShellQuestion {
 public:
  /// Of the command that has ended; `join`: '&', '|' or ';' behind it.
  void answer(std::optional<bool> truth, char join);
  void lose() { simple_ = false; }  // something else stands there, too
  std::optional<bool> truth() const { return simple_ ? status_ : std::nullopt; }

 private:
  bool simple_ = true;
  char join_ = ';';  // in front of the next one
  std::optional<bool> status_;
};

/// The branches that are open where a script is read.
class ShellBranches {
 public:
  void begin_if() { open_.push_back({State::certain}); }
  void begin_case() { open_.push_back({State::unknown}); }
  void end() {
    if (!open_.empty()) open_.pop_back();
  }
  /// What stands behind is read where `truth` is not false.
  void then(std::optional<bool> truth);
  void otherwise() { then(true); }  // else
  void ask_again();                 // elif: whether it is asked at all, until its then

  bool dead() const { return any(State::dead); }            // never run
  bool conditional() const { return any(State::unknown); }  // may be run

 private:
  enum class State { certain, unknown, dead };
  struct Branch {
    State state;
    bool taken = false;  // one surely was
    bool maybe = false;  // one may have been
  };
  bool any(State) const;

  std::vector<Branch> open_;
};

}  // namespace config::launch
