// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/settings.h"

#include <algorithm>
#include <utility>

namespace config::launch {
namespace {

void add_leaves(const Value& value, const std::string& path, Settings& out) {
  if (value.kind != Value::Kind::map) {
    if (!path.empty()) out.set(path, value);
    return;
  }
  for (const auto& [key, entry] : value.entries) {
    Value leaf = entry;
    if (leaf.where.line == 0) leaf.where = entry.key_where;
    add_leaves(leaf, path.empty() ? key : path + '.' + key, out);
  }
}

}  // namespace

void Settings::set(std::string_view name, Value value) {
  for (Setting& setting : all_) {
    if (setting.name != name) continue;
    setting.value = std::move(value);
    return;
  }
  all_.push_back({std::string(name), std::move(value)});
}

void Settings::set(std::string_view name, std::string_view text, const base::Where& where) {
  set(name, scalar(text, where));
}

const Value* Settings::find(std::string_view name) const {
  const auto it = std::find_if(all_.begin(), all_.end(), [&](const Setting& s) { return s.name == name; });
  return it == all_.end() ? nullptr : &it->value;
}

const Value* Settings::take(std::string_view name) {
  for (Setting& setting : all_) {
    if (setting.name != name) continue;
    setting.taken = true;
    return &setting.value;
  }
  return nullptr;
}

std::string Settings::text(std::string_view name, std::string_view otherwise) const {
  const Value* value = find(name);
  return value ? text_of(*value) : std::string(otherwise);
}

void Settings::erase(std::string_view name) {
  std::erase_if(all_, [&](const Setting& s) { return s.name == name; });
}

void Settings::place_name(std::string_view name, const base::Where& where) {
  for (Setting& setting : all_) {
    if (setting.name == name) setting.named = where;
  }
}

void Settings::take_all(std::string_view prefix) {
  for (Setting& setting : all_) setting.taken |= setting.name.starts_with(prefix);
}

std::string text_of(const Value& value) {
  if (value.kind != Value::Kind::list) return value.text;
  std::string out;
  for (const Value& item : value.items) out += (out.empty() ? "" : ", ") + text_of(item);
  return '[' + out + ']';
}

Value list_of(const std::vector<std::string>& items) {
  Value list;
  list.kind = Value::Kind::list;
  for (const std::string& item : items) list.items.push_back(scalar(item));
  return list;
}

Settings flattened(const Value& tree) {
  Settings out;
  add_leaves(tree, "", out);
  return out;
}

Value nested(const Settings& settings) {
  Value root;
  root.kind = Value::Kind::map;
  for (const Setting& setting : settings.all()) {
    Value* at = &root;
    std::string_view path = setting.name;
    for (std::size_t dot; (dot = path.find('.')) != std::string_view::npos; path.remove_prefix(dot + 1)) {
      const std::string_view key = path.substr(0, dot);
      if (!at->find(key)) {
        Value map;
        map.kind = Value::Kind::map;
        at->set(key, std::move(map));
      }
      at = at->find(key);
    }
    at->set(path, setting.value);
  }
  return root;
}

}  // namespace config::launch
