// core/config/launch/shell_branches.h -- which branch of an if a script takes, where what it asks is known.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

namespace config::launch {

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
