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

void read_full_layers(Model& model, Config& config, std::string_view distance, int absent) {
  model.full_every = config.map.has("layer_types") ? every_nth(config, "layer_types", "full_attention")
                     : distance.empty()            ? absent
                                        : static_cast<int>(config.whole(distance, absent, spec::kMostLayers));
  if (model.window > 0 && model.full_every != 1) return;
  model.window = 0;  // no layer has one
  model.full_every = 0;
}

void read_full_layers_without_rope(Model& model, Config& config, std::string_view distance) {
  if (model.window == 0) {
    return config.map.fault("sliding_window", "is none, and layers without window have no rotary embedding here",
                            "write the window in tokens");
  }
  read_full_layers(model, config, distance, 4);
  model.nope_every = model.window > 0 ? model.full_every : 1;
}

void read_last_window(Model& model, Config& config, std::int64_t absent) {
  const std::int64_t full_layers = config.whole("max_window_layers", absent, spec::kMostLayers);
  if (full_layers >= model.layers) return;
  if (full_layers == 0) return read_window(model, config, 4096);
  config.map.fault("max_window_layers", "a window in the last layers alone is not known",
                   "write as many as there are layers, or describe the model in a file of its own");
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

namespace {

template <class T>
void read_count(Config& config, std::string_view key, T& out, std::int64_t max) {
  if (out == 0) {
    config.map.require(key, out, 1, max);
  } else {
    config.map.read(key, out, 1, max);
  }
}

}  // namespace

void read_experts(spec::Moe& moe, Config& config, const ExpertKeys& keys) {
  const bool figures = moe.experts > 0;  // of the library
  read_count(config, keys.experts, moe.experts, spec::kMostExperts);
  read_count(config, keys.top_k, moe.top_k, spec::kMostExperts);
  if (!keys.ffn.empty()) read_count(config, keys.ffn, moe.ffn, spec::kMostFfn);
  if (!keys.shared.empty()) {
    moe.shared_experts = static_cast<int>(config.whole(keys.shared, moe.shared_experts, spec::kMostExperts));
    moe.shared_ffn = moe.shared_experts * moe.ffn;
  }
  if (!keys.first_dense.empty() && figures) {
    config.map.read(keys.first_dense, moe.first_dense, 0, spec::kMostLayers);
  } else if (!keys.first_dense.empty()) {
    config.map.require(keys.first_dense, moe.first_dense, 0, spec::kMostLayers);
  }
  check_experts(moe, config.map, keys.top_k);
}

void read_groups(spec::Moe& moe, Config& config, int groups_absent, int top_absent) {
  const int groups = static_cast<int>(config.whole("n_group", groups_absent, spec::kMostExperts));
  const int top = static_cast<int>(config.whole("topk_group", top_absent, spec::kMostExperts));
  if (groups <= 1 || groups == top) return;
  moe.groups = groups;
  moe.top_groups = top;
  check_groups(moe, config.map, "n_group", "topk_group");
}

void read_hunyuan_attention(Model& model, Config& config) {
  model.qk_norm = true;
  const std::string mend = "the library builds no such layer; describe the model in a file of its own";
  if (!config.flag("use_qk_norm", true)) config.map.fault("use_qk_norm", "is false", mend);
  if (config.flag("use_cla", false)) config.map.fault("use_cla", "is true: layers share keys and values", mend);
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
  config.map.read("tie_word_embeddings", model.tied_embeddings);  // of the whole, which the library goes by
}

}  // namespace config::huggingface
