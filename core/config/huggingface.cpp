// SPDX-License-Identifier: Apache-2.0
#include "core/config/huggingface.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/near_names.h"
#include "core/base/text.h"
#include "core/config/huggingface_families.h"
#include "core/config/model_reader.h"

namespace config {
namespace {

using spec::Model;
using Architecture = HuggingFaceArchitecture;

std::string digits_of(std::string_view name) {
  std::string out;
  std::ranges::copy_if(name, std::back_inserter(out), [](unsigned char c) { return std::isdigit(c) != 0; });
  return out;
}

/// deepseek_v5 is not deepseek_v3 misspelt, and all classes end alike, which makes none of them near.
bool may_be_meant(const std::string& name, const std::string& known) {
  const std::string stem(class_stem(known));
  return digits_of(name) == digits_of(known) && base::nearest(class_stem(name), {stem}).has_value();
}

/// "did you mean llama? known: bloom, ...", in model types or in class names.
std::string known_architectures(const std::string& name, std::string_view Architecture::*spelling) {
  std::vector<std::string> known, near;
  for (const Architecture& one : huggingface_architectures()) {
    if (!known.empty() && known.back() == one.*spelling) continue;  // two model types have one class
    known.emplace_back(one.*spelling);
    if (may_be_meant(name, known.back())) near.push_back(known.back());
  }
  return base::nearest_and(name, near, "known: " + base::joined(known));
}

/// By model_type, or by the class's name where the file has no model_type.
const Architecture* find_architecture(const Value& value, MapReader& map) {
  std::string name;
  std::string_view Architecture::*spelling = &Architecture::model_type;
  const bool typed = map.has("model_type");
  if (typed) {
    if (!map.read("model_type", name)) return nullptr;
  } else if (const Value* classes = map.child("architectures")) {
    spelling = &Architecture::class_name;
    name = classes->items.empty() ? classes->text : classes->items.front().text;
  }
  const auto all = huggingface_architectures();
  const auto it = std::find_if(all.begin(), all.end(), [&](const Architecture& one) { return one.*spelling == name; });
  if (it != all.end()) return &*it;
  const bool written = value.find("architectures") && !typed;
  const std::string key = written ? "architectures" : "model_type";
  if (name.empty()) {
    map.fault(key, "names no architecture", known_architectures(name, spelling));
  } else if (has_recurrent_layers(name)) {
    map.fault(key, base::quoted(name) + " has recurrent layers, and its config.json is not read",
              "write its shape as a model of its own: the keys recurrent and pattern of docs/models.md");
  } else if (const std::string_view beyond = beyond_the_keys(name); !beyond.empty()) {
    map.fault(key, base::quoted(name) + " has " + std::string(beyond) + ", and its config.json is not read",
              "write the nearest shape that the keys of docs/models.md can say");
  } else {
    map.fault(key, base::quoted(name) + " is not known", known_architectures(name, spelling));
  }
  return nullptr;
}

std::string model_name(MapReader& map, const std::string& file_stem) {
  std::string name;
  map.read("_name_or_path", name);
  name = name.substr(name.rfind('/') + 1);
  if (!name.empty()) return name;
  if (file_stem == "config") map.read("model_type", name);  // which every one of these files is called
  return name.empty() ? file_stem : name;
}

/// Parts of a file that change a step and that no key of a model says.
void tell_what_is_left_out(HuggingFaceConfig& config) {
  const auto tell = [&](const char* key, const std::string& what) {
    const Value* const part = config.value.find(key);
    if (part && part->kind == Value::Kind::map)
      config.assumptions.push_back("model: " + what + " (config.json has " + key + ")");
  };
  tell("quantization_config", "in the Job's own precision, not quantised");
  tell("vision_config", "its text alone, without images");
  tell("audio_config", "its text alone, without sound");
}

}  // namespace

bool is_huggingface(const Value& value) { return value.find("model_type") || value.find("architectures"); }

spec::Model read_huggingface(const Value& value, const std::string& file_stem, Faults& faults,
                             std::vector<std::string>* assumptions) {
  Model model;
  std::vector<std::string> unasked;
  const std::size_t before = faults.size();
  MapReader map(value, "", faults);
  model.name = model_name(map, file_stem);
  const Architecture* architecture = find_architecture(value, map);
  if (!architecture) return model;
  HuggingFaceConfig config{value, map, faults, assumptions ? *assumptions : unasked};
  architecture->read(model, config);
  read_rope_scale(model, config);
  if (faults.size() == before) {
    check_shape(model, map,
                {.layers = "num_hidden_layers",
                 .heads = "num_attention_heads",
                 .kv_heads = "num_key_value_heads",
                 .head_dim = "head_dim"});
  }
  tell_what_is_left_out(config);
  for (const auto& [key, entry] : value.entries) map.ignore(key);
  map.finish();
  return model;
}

}  // namespace config
