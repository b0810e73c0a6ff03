// core/config/document.h -- a YAML or JSON file as a tree whose every value knows its file, line and column. The only
// place that knows yaml-cpp. Readers above (job, model, node, calibration) turn trees into spec values.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/fault.h"

namespace config {

struct Value {
  enum class Kind { null, scalar, list, map } kind = Kind::null;
  std::string text;                                    // scalar, as written without quotes
  bool quoted = false;                                 // scalar: was written in quotes, so it is text
  std::vector<Value> items;                            // list
  std::vector<std::pair<std::string, Value>> entries;  // map, in file order; keys are unique
  base::Where where;                                   // of the value
  base::Where key_where;                               // of its key, when it is a map's entry

  Value();  // these six are in the .cpp, where `entries` has a complete type: clang 14 needs that
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();
  const Value* find(std::string_view key) const;  // nullptr when absent or not a map
  Value* find(std::string_view key);
  void set(std::string_view key, Value value);  // replaces or appends. REQUIRES: a map (null becomes one)
};

/// Text at a place, as if it were written there.
Value scalar(std::string_view text, const base::Where& where = {});

/// Reads a file. Throws base::InputError: cannot be read, empty, not YAML, two documents, a key twice, nested too deep.
Value load(const std::string& path);
/// The same from text; `name` stands for the file in messages.
Value parse(std::string_view text, const std::string& name);

/// The path of a file as a command line names it: "-" is the standard input.
std::string path_given(const std::string& word);

/// `over` laid upon `base`: maps merge key by key, everything else is replaced. Places stay those of where it was
/// written.
Value merged(const Value& base, const Value& over);

/// Sets `path` ("strategy.tp", "candidates[1].rent", counted from 0) to a value written as YAML ("8", "[1, 2]",
/// "{kind: full}"). The place of the new value is `origin` (a command-line flag as the user wrote it). A scalar on the
/// way gives way to the map that says the same: `none`, a catalogue's name, a kind of recomputation.
void set_path(Value& root, std::string_view path, std::string_view yaml, const std::string& origin);

}  // namespace config
