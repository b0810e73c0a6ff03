// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/shell_branches.h"

#include <algorithm>

namespace config::launch {

void ShellBranches::then(std::optional<bool> truth) {
  if (open_.empty()) return;
  Branch& now = open_.back();
  if (now.taken || truth == false) {
    now.state = State::dead;
    return;
  }
  now.state = truth && !now.maybe ? State::certain : State::unknown;
  (truth ? now.taken : now.maybe) = true;
}

void ShellBranches::ask_again() {
  if (open_.empty()) return;
  Branch& now = open_.back();
  now.state = now.taken ? State::dead : now.maybe ? State::unknown : State::certain;
}

bool ShellBranches::any(State state) const { return std::ranges::count(open_, state, &Branch::state) > 0; }

}  // namespace config::launch
