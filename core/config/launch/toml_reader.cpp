// core/config/launch/toml_reader.cpp -- the only place that knows toml++.
// SPDX-License-Identifier: Apache-2.0
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "core/base/fault.h"
#include "core/config/launch/settings.h"
#include "core/config/launch/torchtitan.h"

namespace config::launch {
namespace {

base::Where where_of(const toml::node& node, const std::string& path) {
  const toml::source_position at = node.source().begin;
  return {path, static_cast<int>(at.line), static_cast<int>(at.column)};
}

std::string text_of_number(const toml::node& node) {
  std::ostringstream out;
  if (const auto* number = node.as_floating_point()) {
    out << number->get();
  } else if (const auto* whole = node.as_integer()) {
    out << whole->get();
  }
  return out.str();
}

Value value_of(const toml::node& node, const std::string& path) {
  Value value;
  value.where = where_of(node, path);
  if (const toml::table* table = node.as_table()) {
    value.kind = Value::Kind::map;
    for (const auto& entry : *table)
      value.entries.emplace_back(std::string(entry.first.str()), value_of(entry.second, path));
    // toml++ sorts keys; faults are told in the file's order.
    std::stable_sort(value.entries.begin(), value.entries.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second.where.line, a.second.where.column) <
             std::pair(b.second.where.line, b.second.where.column);
    });
  } else if (const toml::array* array = node.as_array()) {
    value.kind = Value::Kind::list;
    for (const toml::node& item : *array) value.items.push_back(value_of(item, path));
  } else {
    value.kind = Value::Kind::scalar;
    if (const auto* text = node.as_string()) {
      value.text = text->get();
      value.quoted = true;
    } else if (const auto* truth = node.as_boolean()) {
      value.text = truth->get() ? "true" : "false";
    } else {
      value.text = text_of_number(node);
    }
  }
  return value;
}

}  // namespace

Value load_toml(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw base::InputError({{"FILE", "cannot be read", "name a TOML file", {path, 0, 0}}});
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    const toml::table table = toml::parse(std::string_view(text), std::string_view(path));
    return value_of(table, path);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    throw base::InputError({{"TOML",
                             std::string(error.description()),
                             "mend it there",
                             {path, static_cast<int>(at.line), static_cast<int>(at.column)}}});
  }
}

}  // namespace config::launch
