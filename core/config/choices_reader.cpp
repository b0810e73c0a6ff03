// SPDX-License-Identifier: Apache-2.0
#include "core/config/choices_reader.h"

#include <algorithm>
#include <optional>

#include "core/base/near_names.h"
#include "core/base/text.h"

namespace config {
namespace {

using Kind = Catalogue::Kind;

const std::vector<std::string> kShelves{"frameworks", "calibrations", "networks", "job"};

void unknown(const std::string& path, const std::string& what, const std::string& name,
             const std::vector<std::string>& known, const base::Where& where, Faults& faults) {
  faults.push_back({path, "there is no " + what + ' ' + base::quoted(name),
                    base::nearest_or(name, known, "known: " + base::joined(known)), where});
}

std::vector<std::string> entry_names(const std::string& shelf, const Catalogue& catalogue) {
  if (shelf == "networks") return catalogue.network_names();
  return catalogue.names(shelf == "frameworks" ? Kind::framework : Kind::calibration);
}

/// The catalogue's own tree of an entry; nothing when there is none.
std::optional<Value> entry_of(const std::string& shelf, const std::string& name, const Catalogue& catalogue) {
  const std::string file = shelf == "networks"
                               ? catalogue.network_path(name)
                               : catalogue.path(shelf == "frameworks" ? Kind::framework : Kind::calibration, name);
  return file.empty() ? std::nullopt : std::optional(load(file));
}

/// Has the entry's own reader look at the values, with their units and ranges.
void read_with(const Value& overrides, const std::string& shelf, const Value& name, const Catalogue& catalogue,
               Faults& faults) {
  const Catalogue changed = catalogue.with(overrides);
  if (shelf == "frameworks") {
    changed.framework(name, "framework", faults);
  } else if (shelf == "calibrations") {
    changed.calibration(name.text, "calibration", name.where, faults);
  } else {
    changed.network_calibration(name.text, "calibration", name.where, faults);
  }
}

/// One choice's faults beyond the shape of its map.
class Checker {
 public:
  Checker(const Catalogue& catalogue, Faults& faults) : catalogue_(catalogue), faults_(faults) {}

  void check(const Choice& choice, const std::string& path) {
    const Alternative& present = choice.alternatives[choice.present];
    for (const Alternative& alternative : choice.alternatives) {
      const std::string at = path + ".alternatives." + alternative.name + ".overrides";
      const std::size_t before = faults_.size();
      for (const auto& [shelf, entries] : alternative.overrides.entries) {
        check_shelf(shelf, entries, at, &alternative == &present);
      }
      if (faults_.size() == before) check_readable(alternative);
      if (&alternative != &present) check_set(alternative.overrides, present.overrides, at, present.name);
    }
  }

 private:
  void check_shelf(const std::string& shelf, const Value& entries, const std::string& at, bool is_present) {
    if (std::find(kShelves.begin(), kShelves.end(), shelf) == kShelves.end()) {
      return unknown(at, "shelf", shelf, kShelves, entries.key_where, faults_);
    }
    if (entries.kind != Value::Kind::map) {
      faults_.push_back({at + '.' + shelf, "is not a map", "write {entry: {key: value}}", entries.where});
      return;
    }
    if (shelf == "job") return;
    for (const auto& [name, over] : entries.entries) {
      const std::optional<Value> tree = entry_of(shelf, name, catalogue_);
      if (!tree) {
        unknown(at + '.' + shelf, "entry", name, entry_names(shelf, catalogue_), over.key_where, faults_);
      } else {
        check_keys(over, *tree, at + '.' + shelf + '.' + name, is_present);
      }
    }
  }

  /// Every key must be there, so that a slip cannot be an alternative without effect.
  void check_keys(const Value& over, const Value& held, const std::string& path, bool is_present) {
    if (over.kind == Value::Kind::map) {
      std::vector<std::string> known;
      for (const auto& [key, value] : held.entries) known.push_back(key);
      for (const auto& [key, value] : over.entries) {
        const Value* below = held.find(key);
        if (!below) {
          unknown(path, "key", key, known, value.key_where, faults_);
        } else {
          check_keys(value, *below, path + '.' + key, is_present);
        }
      }
    } else if (is_present && (over.kind != held.kind || over.text != held.text)) {
      faults_.push_back({path, base::quoted(over.text) + " is not what the catalogue holds, " + base::quoted(held.text),
                         "write the catalogue's value, or name as `present` the alternative that it has", over.where});
    }
  }

  void check_readable(const Alternative& alternative) {
    for (const auto& [shelf, entries] : alternative.overrides.entries) {
      if (shelf == "job") continue;
      for (const auto& [name, over] : entries.entries) {
        read_with(alternative.overrides, shelf, scalar(name, over.key_where), catalogue_, faults_);
      }
    }
  }

  /// What one alternative sets every other sets too, the present one first of all.
  void check_set(const Value& over, const Value& present, const std::string& path, const std::string& name) {
    for (const auto& [key, value] : over.entries) {
      const Value* other = present.find(key);
      if (!other) {
        faults_.push_back({path + '.' + key, "is not set by the present alternative, " + name,
                           "write there what the catalogue has", value.key_where});
      } else {
        check_set(value, *other, path + '.' + key, name);
      }
    }
  }

  const Catalogue& catalogue_;
  Faults& faults_;
};

std::vector<Alternative> read_alternatives(const Value& list, const std::string& path, Faults& faults) {
  std::vector<Alternative> out;
  for (const auto& [name, value] : list.entries) {
    Alternative& alternative = out.emplace_back();
    alternative.name = name;
    MapReader map(value, path + '.' + name, faults);
    map.require("source", alternative.source);
    map.read("told_by", alternative.told_by);
    if (const Value* overrides = map.child("overrides")) {
      alternative.overrides = *overrides;
    } else if (value.kind == Value::Kind::map) {
      map.fault("overrides", "is missing", "write the catalogue's values that it stands for");
    }
    map.finish();
  }
  return out;
}

Choice read_choice(const Value& value, const std::string& path, const Catalogue& catalogue, Faults& faults) {
  Choice choice;
  const std::size_t before = faults.size();
  MapReader map(value, path, faults);
  map.require("name", choice.name);
  map.require("decides", choice.decides);
  std::string present;
  map.require("present", present);
  const Value* list = map.child("alternatives");
  if (list && list->entries.size() >= 2) {
    choice.alternatives = read_alternatives(*list, path + ".alternatives", faults);
  } else if (value.kind == Value::Kind::map) {
    map.fault("alternatives", "are not two", "write a map of at least two, by name");
  }
  map.finish();
  if (faults.size() > before) return choice;
  std::vector<std::string> names;
  for (const Alternative& alternative : choice.alternatives) names.push_back(alternative.name);
  const auto at = std::find(names.begin(), names.end(), present);
  choice.present = static_cast<std::size_t>(at - names.begin());
  if (at == names.end()) {
    unknown(path + ".present", "alternative", present, names, value.find("present")->where, faults);
  } else {
    Checker(catalogue, faults).check(choice, path);
  }
  return choice;
}

}  // namespace

std::vector<Choice> read_choices(const Value& tree, const Catalogue& catalogue) {
  Faults faults;
  std::vector<Choice> out;
  MapReader map(tree, "", faults);
  const Value* list = map.child("choices");
  if (tree.kind == Value::Kind::map && (!list || list->kind != Value::Kind::list)) {
    map.fault("choices", list ? "is not a list" : "is missing",
              "write `choices:` and below it `- {name, decides, present, alternatives}` for each of them");
  }
  map.finish();
  for (std::size_t i = 0; list && i < list->items.size(); ++i) {
    out.push_back(read_choice(list->items[i], "choices[" + std::to_string(i) + ']', catalogue, faults));
    const auto same = [&](const Choice& other) { return other.name == out.back().name; };
    if (std::find_if(out.begin(), out.end() - 1, same) != out.end() - 1) {
      faults.push_back({"choices[" + std::to_string(i) + "].name", base::quoted(out.back().name) + " is there already",
                        "give each choice a name of its own", list->items[i].where});
    }
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return out;
}

std::vector<Choice> read_choices(const std::string& path, const Catalogue& catalogue) {
  return read_choices(load(path), catalogue);
}

std::vector<std::string> entries_of(const Alternative& alternative) {
  std::vector<std::string> out;
  for (const auto& [shelf, entries] : alternative.overrides.entries) {
    if (shelf == "job") {
      out.push_back(shelf);
    } else {
      for (const auto& [name, over] : entries.entries) out.push_back(shelf + '.' + name);
    }
  }
  return out;
}

}  // namespace config
