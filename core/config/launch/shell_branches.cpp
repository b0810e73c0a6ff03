// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/shell_branches.h"

#include <algorithm>
#include <cstdint>

#include "core/base/number.h"

namespace config::launch {
namespace {

std::optional<bool> compared(const std::string& a, std::string_view by, const std::string& b) {
  if (by == "=" || by == "==" || by == "!=") {
    if (b.find_first_of("*?[") != b.npos) return std::nullopt;  // a pattern between [[ ]]
    return (a == b) == (by != "!=");
  }
  const auto x = base::number_in<std::int64_t>(a), y = base::number_in<std::int64_t>(b);
  if (!x || !y) return std::nullopt;
  if (by == "-eq") return *x == *y;
  if (by == "-ne") return *x != *y;
  if (by == "-lt") return *x < *y;
  if (by == "-le") return *x <= *y;
  if (by == "-gt") return *x > *y;
  if (by == "-ge") return *x >= *y;
  return std::nullopt;
}

}  // namespace

std::optional<bool> shell_condition(const std::vector<std::string>& words) {
  std::vector<std::string> w = words;
  if (w.empty()) return std::nullopt;
  if (std::ranges::any_of(w, [](const std::string& word) { return word.find_first_of("$`") != word.npos; }))
    return std::nullopt;
  if (w.size() == 1 && (w[0] == "true" || w[0] == "false")) return w[0] == "true";
  const bool brackets = (w[0] == "[" && w.back() == "]") || (w[0] == "[[" && w.back() == "]]");
  if (!brackets && w[0] != "test") return std::nullopt;
  w.erase(w.begin());
  if (brackets) w.pop_back();
  if (w.size() == 1 && words[0] != "[[" && (w[0] == "-z" || w[0] == "-n")) return true;  // a text, of $A that is empty
  if (w.size() == 2 && w[0] == "-z") return w[1].empty();
  if (w.size() == 2 && w[0] == "-n") return !w[1].empty();
  return w.size() == 3 ? compared(w[0], w[1], w[2]) : std::nullopt;
}

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
