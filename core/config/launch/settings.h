// core/config/launch/settings.h -- a Job, or a framework's options, as a flat list: "strategy.tp" 4, "bf16.enabled"
// true. What was taken is marked, so that nothing is lost unseen. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/document.h"

namespace config::launch {

struct Setting {
  std::string name;
  Value value;  // a scalar or a list
  bool taken = false;
  base::Where named = {};  // where the name stands, if apart from the value
};

class Settings {
 public:
  /// Replaces or appends.
  void set(std::string_view name, Value value);
  void set(std::string_view name, std::string_view text, const base::Where& where = {});
  const Value* find(std::string_view name) const;  // nullptr when absent
  /// The same, and it counts as taken.
  const Value* take(std::string_view name);
  /// As text_of(); `otherwise` when absent.
  std::string text(std::string_view name, std::string_view otherwise = "") const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  void erase(std::string_view name);
  void place_name(std::string_view name, const base::Where&);
  /// Every one whose name begins so.
  void take_all(std::string_view prefix);
  std::vector<Setting>& all() & { return all_; }
  const std::vector<Setting>& all() const& { return all_; }
  std::vector<Setting> all() && { return std::move(all_); }  // so that a loop over a temporary keeps it

 private:
  std::vector<Setting> all_;
};

/// A scalar as it is, a list as "[a, b]".
std::string text_of(const Value&);
Value list_of(const std::vector<std::string>& items);

/// Leaves of a tree by their path, in file order. Maps that are empty vanish.
Settings flattened(const Value& tree);
/// The tree again: "a.b" becomes {a: {b: ...}}.
Value nested(const Settings&);

}  // namespace config::launch
