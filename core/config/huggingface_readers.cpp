// SPDX-License-Identifier: Apache-2.0
#include "core/config/huggingface_readers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/config/model_reader.h"

namespace config::huggingface {

void read_gated(Model& model, Config& config, const Defaults& absent) {
  read_shape(model, config, absent);
  model.gated_mlp = true;
  model.norm = spec::Norm::rmsnorm;
  model.position = spec::Position::rope;
  read_activation(model, config, "hidden_act");
}

void read_attention_bias(Model& model, Config& config, bool absent) {
  model.qkv_bias = model.proj_bias = config.flag("attention_bias", absent);
}

void read_plain(Model& model, Config& config, const Defaults& absent, std::string_view activation) {
  read_shape(model, config, absent);
  model.norm = spec::Norm::layernorm;
  model.bias = true;
  read_activation(model, config, activation);
}

int every_nth(Config& config, std::string_view key, std::string_view special) {
  const Value* list = config.map.child(key);
  const std::size_t count = list ? list->items.size() : 0;
  std::size_t first = 0;
  while (first < count && list->items[first].text != special) ++first;
  if (first == count) return 0;
  const std::size_t n = first + 1;
  for (std::size_t layer = 0; layer < count; ++layer) {
    if ((list->items[layer].text == special) == ((layer + 1) % n == 0)) continue;
    config.map.fault(key, "layer " + std::to_string(layer) + " breaks the pattern of those before it",
                     "one layer in n, the n-th, the 2n-th and so on, is known to differ");
    return 0;
  }
  return static_cast<int>(n);
}

void read_window_layers(Model& model, Config& config) {
  model.window_every = 2;
  if (!config.map.has("layer_types")) return;
  model.full_every = every_nth(config, "layer_types", "full_attention");
  model.window_every = 1;
  if (model.full_every == 1) model.window = 0;
  if (model.full_every > 2) return;
  if (model.full_every == 2) model.window_every = 2;  // the same, as the catalogue says it
  model.full_every = 0;
}

int read_nope_every(Config& config) {
  const Value* list = config.value.find("no_rope_layers");
  if (list && !list->items.empty()) return every_nth(config, "no_rope_layers", "0");
  return static_cast<int>(config.whole("no_rope_layer_interval", 4, spec::kMostLayers));
}

void read_dense_layers(spec::Moe& moe, Config& config) {
  std::vector<int> dense;
  config.map.read("mlp_only_layers", dense, 0, spec::kMostLayers);
  std::sort(dense.begin(), dense.end());
  for (const int layer : dense) {
    if (layer == moe.first_dense) {
      ++moe.first_dense;
    } else {
      config.map.fault("mlp_only_layers", "layer " + std::to_string(layer) + " is dense, and one before it is not",
                       "dense layers have to be the first ones: [0, 1, 2]");
      return;
    }
  }
}

void read_text_part(Model& model, Config& config, void (*read)(Model&, Config&)) {
  const Value* part = config.map.child("text_config");
  if (!part)
    return config.map.fault("text_config", "is missing", "add the part that reads text, with its layers and widths");
  MapReader map(*part, config.map.path_of("text_config"), config.faults);
  Config text{*part, map, config.faults, config.assumptions};
  read(model, text);
  for (const auto& [key, entry] : part->entries) map.ignore(key);
  map.finish();
}

}  // namespace config::huggingface
