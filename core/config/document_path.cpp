// core/config/document_path.cpp -- sets a field of a document by its path (declared in document.h).
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "core/base/text.h"
#include "core/base/trimmed.h"
#include "core/config/document.h"
#include "core/spec/strategy.h"

namespace config {
namespace {

Value empty_map(const base::Where& where) {
  Value map;
  map.kind = Value::Kind::map;
  map.where = map.key_where = where;
  return map;
}

void move_to(Value& value, const base::Where& where) {
  value.where = value.key_where = where;
  for (Value& item : value.items) move_to(item, where);
  for (auto& [key, entry] : value.entries) move_to(entry, where);
}

/// Of "candidates[1]" the brackets, from which one entry of a list is named; npos: none.
std::size_t brackets_of(std::string_view key) {
  const std::size_t open = key.find('[');
  const bool whole = open != key.npos && key.size() > open + 2 && key.back() == ']' &&
                     key.find_first_not_of("0123456789", open + 1) == key.size() - 1;
  return whole && key.size() < open + 10 ? open : key.npos;
}

/// An empty value, however YAML writes it.
bool says_nothing(std::string_view yaml) {
  const std::string_view text = base::trimmed(yaml, " \t\n");
  return text.empty() || text == "null" || text == "~";
}

class Setting {
 public:
  Setting(std::string_view path, std::string_view yaml, const std::string& origin)
      : path_(path), yaml_(yaml), where_{origin, 0, 0} {}

  void apply(Value& root) const {
    Value* at = &root;
    std::size_t begin = 0;
    for (std::size_t dot; (dot = path_.find('.', begin)) != path_.npos; begin = dot + 1) at = &step(*at, begin, dot);
    const std::string_view key = path_.substr(begin);
    enter(*at, key, begin);
    if (const std::size_t open = brackets_of(key); open != key.npos) {
      entry_of(*at, key, open) = value();
    } else {
      at->set(key, value());
    }
  }

 private:
  [[noreturn]] void fail(std::string what, std::string mend) const {
    throw base::InputError({{std::string(path_), std::move(what), std::move(mend), where_}});
  }

  /// Makes `at`, which the path has led to, something that holds `key`, which begins at `begin`.
  void enter(Value& at, std::string_view key, std::size_t begin) const {
    if (key.empty()) fail("is no path to a field", "write the keys with a dot between, such as strategy.tp=8");
    if (at.kind == Value::Kind::list) {
      const std::string list(path_.substr(0, begin - 1));
      fail("leads into a list", "set the whole list, " + list + "=[...], or an entry of it, " + list + "[0]");
    }
    if (at.kind == Value::Kind::scalar) at = opened(at, path_.substr(0, begin == 0 ? 0 : begin - 1));
  }

  /// The map that says the same as a scalar at `path`: none of it, a kind of recomputation, all kernels or no kernel
  /// fused; a name of the catalogue becomes the base of an inline map.
  Value opened(const Value& scalar, std::string_view path) const {
    Value map = empty_map(where_);
    const std::string_view key = path.substr(path.rfind('.') + 1);
    const bool plain = !scalar.quoted, all = plain && scalar.text == "true";
    if (key == "recompute") {
      map.set("kind", scalar);
    } else if (key == "fused_kernels" && (all || (plain && scalar.text == "false"))) {
      for (const auto& [kernel, member] : spec::kFusedKernels) {
        if (spec::is_named_alone(member, all)) continue;  // left to the framework, as by the scalar
        map.set(kernel, config::scalar(scalar.text, scalar.where));
      }
    } else if (path.starts_with("strategy.") && !path.starts_with("strategy.framework")) {
      if (scalar.text != "none") {
        fail("leads into " + base::quoted(scalar.text) + ", which is no map",
             "write what " + std::string(path) + " is to be as a whole, " + std::string(path) + "=VALUE");
      }
    } else if (scalar.text != "none" || path == "strategy.framework") {
      map.set("base", scalar);
    }
    return map;
  }

  Value& step(Value& at, std::size_t begin, std::size_t end) const {
    const std::string_view key = path_.substr(begin, end - begin);
    enter(at, key, begin);
    if (const std::size_t open = brackets_of(key); open != key.npos) {
      Value& entry = entry_of(at, key, open);
      if (entry.kind == Value::Kind::scalar) {
        fail("leads into " + base::quoted(entry.text) + ", which is no map",
             "set the whole entry, " + std::string(path_.substr(0, end)) + "={...}");
      }
      return entry;
    }
    if (at.find(key) == nullptr) at.set(key, empty_map(where_));
    return *at.find(key);
  }

  /// The entry that `key`, in which brackets begin at `open`, names in a map.
  Value& entry_of(Value& map, std::string_view key, std::size_t open) const {
    Value* list = map.find(key.substr(0, open));
    const std::size_t entries = list && list->kind == Value::Kind::list ? list->items.size() : 0;
    const std::size_t number = std::stoul(std::string(key.substr(open + 1)));
    if (number < entries) return list->items[number];
    const std::string name(key.substr(0, open));
    fail("has no entry " + std::to_string(number),
         entries == 0 ? "write the list first" : "the last one is " + name + '[' + std::to_string(entries - 1) + ']');
  }

  Value value() const {
    Value value;
    if (!says_nothing(yaml_)) {
      try {
        value = parse(yaml_, where_.file);
      } catch (const base::InputError& error) {
        fail(error.faults.front().what, error.faults.front().mend);
      }
    }
    move_to(value, where_);
    return value;
  }

  std::string_view path_, yaml_;
  base::Where where_;
};

}  // namespace

void set_path(Value& root, std::string_view path, std::string_view yaml, const std::string& origin) {
  Setting(path, yaml, origin).apply(root);
}

}  // namespace config
