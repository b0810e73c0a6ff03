// SPDX-License-Identifier: Apache-2.0
#include "core/config/search_reader.h"

#include <algorithm>
#include <cstddef>

#include "core/base/near_names.h"
#include "core/base/text.h"
#include "core/config/job_reader.h"
#include "core/config/strategy_reader.h"
#include "core/spec/ranges.h"

namespace config {
namespace {

using spec::SearchKey;

/// At commas outside of brackets.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : text) {
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (c == ',' && depth == 0) {
      out.emplace_back();
    } else if (c != ' ' || !out.back().empty()) {
      out.back() += c;
    }
  }
  return out;
}

SearchKey key_named(std::string_view text, const std::string& option) {
  std::string name(text.starts_with("strategy.")   ? text.substr(9)
                   : text.starts_with("training.") ? text.substr(9)
                                                   : text);
  const auto& names = spec::kSearchKeyNames;
  const auto known = std::find(names.begin(), names.end(), name);
  if (known != names.end()) return static_cast<SearchKey>(known - names.begin());
  const std::vector<std::string> all(names.begin(), names.end());
  throw base::InputError({{option,
                           "'" + name + "' is no key that a search chooses",
                           base::nearest_or(name, all, "choose among " + base::joined(all) + "; --set fixes any other"),
                           {}}});
}

/// A cut by its name: which list it makes depends on the other keys.
spec::SearchValue layer_cut(const std::string& text, const std::string& option) {
  for (const spec::SearchValue value :
       {spec::kEvenLayers, spec::value_of(spec::LayerCut::by_work), spec::value_of(spec::LayerCut::light_front)}) {
    if (spec::value_text(SearchKey::stage_layers, value) == text) return value;
  }
  throw base::InputError({{option,
                           "'" + text + "' is no way to cut layers",
                           "choose among even, by_work, light_front; --set strategy.stage_layers=[...] fixes a list",
                           {}}});
}

spec::SearchValue read_value(SearchKey key, const std::string& text, const std::string& option) {
  if (key == SearchKey::stage_layers) return layer_cut(text, option);
  const std::string origin = option + " " + std::string(spec::name(key));
  Value tree;
  tree.kind = Value::Kind::map;
  set_path(tree, spec::path_of(key), text, origin);
  spec::Job job;
  Faults faults;
  if (key == SearchKey::micro_batch) {
    MapReader map(*tree.find("training"), "training", faults);
    map.read("micro_batch", job.training.micro_batch, 1, spec::kMostSequences);
  } else {
    job.strategy = read_strategy(*tree.find("strategy"), faults);
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return spec::value_of(key, job);
}

}  // namespace

const Value* written_at(const Value& tree, SearchKey key) {
  const std::string whole = spec::path_of(key);
  std::string_view path = whole;
  const Value* value = &tree;
  for (std::size_t dot; value != nullptr && (dot = path.find('.')) != path.npos; path.remove_prefix(dot + 1)) {
    value = value->find(path.substr(0, dot));
  }
  if (value != nullptr) value = value->find(path);
  return value != nullptr && value->kind != Value::Kind::null ? value : nullptr;
}

OpenJob read_open_job(const Value& tree, const Catalogue& catalogue) {
  OpenJob out{read_unchecked_job(tree, catalogue), {}};
  for (int k = 0; k < spec::kSearchKeys; ++k) {
    const auto key = static_cast<SearchKey>(k);
    if (written_at(tree, key) != nullptr) out.space[key] = {spec::value_of(key, out.job)};
  }
  return out;
}

SearchKey read_values(std::string_view text, const std::string& option, spec::SearchSpace& space) {
  const std::size_t equals = text.find('=');
  const SearchKey key = key_named(text.substr(0, equals), option);
  if (equals == text.npos) {
    throw base::InputError({{option, "'" + std::string(text) + "' has no value", "write KEY=VALUE, such as tp=8", {}}});
  }
  std::vector<spec::SearchValue> values;
  for (const std::string& value : split(text.substr(equals + 1))) {
    if (value.empty()) {
      throw base::InputError({{option,
                               "'" + std::string(text) + "' has an empty value",
                               text.ends_with('=') ? "write KEY=VALUE, such as tp=8" : "remove the comma",
                               {}}});
    }
    const spec::SearchValue one = read_value(key, value, option);
    if (std::find(values.begin(), values.end(), one) == values.end()) values.push_back(one);
  }
  space[key] = values;
  return key;
}

void set_choice(const std::string& key, const std::string& value, spec::Job& job) {
  if (key != spec::name(SearchKey::stage_layers)) {
    const SearchKey known = key_named(key, "strategy");
    return spec::set_value(known, read_value(known, value, "strategy"), job);
  }
  Value tree;
  tree.kind = Value::Kind::map;
  set_path(tree, key, value, "strategy");
  Faults faults;
  job.strategy.stage_layers = read_strategy(tree, faults).stage_layers;
  if (!faults.empty()) throw base::InputError(std::move(faults));
}

std::vector<SearchKey> read_keys(std::string_view text, const std::string& option) {
  std::vector<SearchKey> out;
  if (text == "all") {
    for (int k = 0; k < spec::kSearchKeys; ++k) out.push_back(static_cast<SearchKey>(k));
    return out;
  }
  for (const std::string& name : split(text)) out.push_back(key_named(name, option));
  return out;
}

}  // namespace config
