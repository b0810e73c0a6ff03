// core/config/launch/shell_variables.h -- what a script's variables hold, and what a branch made of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/config/launch/shell_text.h"

namespace config::launch {

/// What a script reads and does not set, as the user says it: its arguments ("1", "2") and its environment.
struct GivenVariables {
  std::map<std::string, std::string> values;
  std::set<std::string> read = {};  // those that a text asked for
  bool asked = false;               // there is a text that could
};

class ShellVariables {
 public:
  explicit ShellVariables(GivenVariables* given = nullptr) : given_(given) {}

  /// A variable with options that a branch which may be taken sets again, to something else.
  struct Replaced {
    std::string name;
    Place first, then;
  };

  const PlacedText* find(const std::string& name) const;
  /// Of one that the script has not set: what the user says, or nullptr.
  const std::string* given(const std::string& name) const;
  void erase(const std::string& name) { values_.erase(name); }
  /// It has a value that is not known here.
  void lose(const std::string& name) {
    values_.erase(name);
    lost_.insert(name);
  }
  /// What only a branch or a command that is not run sets is empty, unless the user gives it a value.
  void leave_empty(const std::string& name) { left_empty_.insert(name); }
  bool left_empty(const std::string& name) const { return left_empty_.contains(name) && !lost_.contains(name); }
  /// NAME=value, and NAME+=value where it `adds`. `conditional`: in a branch that may be taken. What the value takes
  /// over from the variable itself is as sure as it was.
  void assign(const std::string& name, PlacedText value, bool adds, bool conditional, Place at);
  const std::vector<Replaced>& replaced() const { return replaced_; }

 private:
  GivenVariables* given_;
  std::map<std::string, PlacedText> values_;
  std::set<std::string> left_empty_, lost_;
  std::vector<Replaced> replaced_;
};

}  // namespace config::launch
