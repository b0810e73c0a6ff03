// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/correspondence.h"

#include <algorithm>

#include "core/config/map_reader.h"

namespace config::launch {
namespace {

bool matches(std::string_view pattern, std::string_view option) {
  if (!pattern.ends_with('*')) return pattern == option;
  pattern.remove_suffix(1);
  return option.starts_with(pattern);
}

std::vector<std::string> names_of(MapReader& map, std::string_view key) {
  std::vector<std::string> out;
  const Value* list = map.child(key);
  if (!list) return out;
  if (list->kind != Value::Kind::list) map.fault(key, "is not a list", "write [name, name]");
  for (const Value& item : list->items) out.push_back(item.text);
  return out;
}

std::vector<std::pair<std::string, std::string>> words_of(MapReader& map, std::string_view key) {
  std::vector<std::pair<std::string, std::string>> out;
  const Value* words = map.child(key);
  if (!words) return out;
  if (words->kind != Value::Kind::map) map.fault(key, "is not a map", "write {name: text}");
  for (const auto& [name, value] : words->entries) out.emplace_back(name, value.text);
  return out;
}

std::vector<Setting> settings_of(MapReader& map, std::string_view key) {
  std::vector<Setting> out;
  const Value* settings = map.child(key);
  if (!settings) return out;
  if (settings->kind != Value::Kind::map) map.fault(key, "is not a map", "write {name: value}");
  for (const auto& [name, value] : settings->entries) out.push_back({name, value});
  return out;
}

Line line_of(MapReader& map) {
  Line line;
  map.require("key", line.key);
  const bool on = map.read("flag", line.option), off = map.read("no_flag", line.option);
  if (on || off) line.form = on ? Line::Form::on : Line::Form::off;
  if (!on && !off) map.require("option", line.option);
  std::string absent;
  if (map.read("absent", absent)) line.absent = absent;
  if (on || off) line.absent = on ? "false" : "true";
  map.read("quiet", line.quiet);
  map.read("needs", line.needs);
  line.words = words_of(map, "words");
  return line;
}

Choice choice_of(MapReader& map, const std::string& path, Faults& faults) {
  Choice choice;
  map.read("because", choice.because);
  map.read("needs", choice.needs);
  const Value* rows = map.child("rows");
  for (const Value& value : rows->items) {
    MapReader row(value, path + ".rows", faults);
    Row out;
    out.job = settings_of(row, "job");
    out.options = settings_of(row, "options");
    row.read("import_only", out.import_only);
    row.finish();
    choice.rows.push_back(std::move(out));
  }
  return choice;
}

std::vector<std::variant<Line, Choice>> keys_of(MapReader& map, Faults& faults) {
  std::vector<std::variant<Line, Choice>> out;
  const Value* list = map.child("keys");
  if (!list) return out;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const std::string path = "keys[" + std::to_string(i) + "]";
    MapReader item(list->items[i], path, faults);
    if (item.has("rows")) {
      out.emplace_back(choice_of(item, path, faults));
    } else {
      out.emplace_back(line_of(item));
    }
    item.finish();
  }
  return out;
}

}  // namespace

Correspondence read_correspondence(const Catalogue& catalogue, std::string_view name) {
  const std::shared_ptr<const Value> tree = catalogue.launch(name);
  Faults faults;
  Correspondence out;
  MapReader map(*tree, "", faults);
  map.require("title", out.title);
  map.require("profile", out.profile);
  map.ignore("source");
  out.keys = keys_of(map, faults);
  out.always = settings_of(map, "always");
  out.silence = settings_of(map, "silence");
  out.implied = names_of(map, "implied");
  out.script = names_of(map, "script");
  out.refusals = words_of(map, "refusals");
  out.no_effect = names_of(map, "no_effect");
  out.small_effect = words_of(map, "small_effect");
  out.not_taken = words_of(map, "not_taken");
  out.other_names = words_of(map, "other_names");
  map.finish();
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return out;
}

bool listed(const std::vector<std::string>& names, std::string_view option) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return matches(name, option); });
}

const std::string* beside(const std::vector<std::pair<std::string, std::string>>& names, std::string_view option) {
  const auto it = std::find_if(names.begin(), names.end(), [&](const auto& n) { return matches(n.first, option); });
  return it == names.end() ? nullptr : &it->second;
}

}  // namespace config::launch
