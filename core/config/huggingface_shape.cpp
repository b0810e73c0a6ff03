// SPDX-License-Identifier: Apache-2.0
#include "core/config/huggingface_shape.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <span>
#include <string>

#include "core/base/text.h"
#include "core/config/model_reader.h"

namespace config {
namespace {

using Names = std::span<const std::string_view>;

// The first is the library's common name, the others those of single architectures.
constexpr std::array<std::string_view, 4> kLayers{"num_hidden_layers", "n_layer", "n_layers", "num_layers"};
constexpr std::array<std::string_view, 4> kHidden{"hidden_size", "n_embd", "n_embed", "d_model"};
constexpr std::array<std::string_view, 3> kHeads{"num_attention_heads", "n_head", "n_heads"};
constexpr std::array<std::string_view, 4> kKvHeads{"num_key_value_heads", "num_kv_heads", "n_head_kv", "kv_n_heads"};
constexpr std::array<std::string_view, 4> kFfn{"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"};
constexpr std::array<std::string_view, 2> kVocab{"vocab_size", "padded_vocab_size"};
constexpr std::array<std::string_view, 3> kPositions{"max_position_embeddings", "n_positions", "max_seq_len"};

/// The name under which this file has it; the common one when it has none.
std::string_view written(const HuggingFaceConfig& config, Names names) {
  const auto it = std::find_if(names.begin(), names.end(), [&](std::string_view n) { return config.value.find(n); });
  return it == names.end() ? names.front() : *it;
}

/// Takes the library's figure, and says so of a key that is not there: null means it.
template <class T>
void take_absent(HuggingFaceConfig& config, std::string_view field, std::string_view key, T& out, T absent) {
  out = absent;
  if (config.value.find(key)) return;
  const std::string file = std::filesystem::path(config.value.where.file).filename();
  config.assumptions.push_back("model." + std::string(field) + ": " + std::to_string(absent) +
                               " (Transformers' default, " + file + " has no " + std::string(key) + ')');
}

/// Reads a count under any of its names. `absent` 0 makes it required.
template <class T>
void read_count(HuggingFaceConfig& config, std::string_view field, Names names, T& out, T absent, std::int64_t max) {
  const std::string_view key = written(config, names);
  if (absent == 0) {
    config.map.require(key, out, 1, max);
  } else if (!config.map.read(key, out, 1, max)) {
    take_absent(config, field, key, out, absent);
  }
}

/// Reads a count that the library derives from others when it is null, or absent without a figure of its own.
template <class T>
void read_derived(HuggingFaceConfig& config, std::string_view field, Names names, T& out, T absent, T derived,
                  std::int64_t max) {
  const std::string_view key = written(config, names);
  if (config.map.read(key, out, 1, max)) return;
  if (config.is_null(key) || absent == 0) {
    out = derived;
  } else {
    take_absent(config, field, key, out, absent);
  }
}

}  // namespace

bool HuggingFaceConfig::is_null(std::string_view key) const {
  const Value* entry = value.find(key);
  return entry && entry->kind == Value::Kind::null;
}

bool HuggingFaceConfig::flag(std::string_view key, bool absent) {
  bool out = absent;
  map.read(key, out);
  return out;
}

std::int64_t HuggingFaceConfig::whole(std::string_view key, std::int64_t absent, std::int64_t max) {
  std::int64_t out = is_null(key) ? 0 : absent;
  map.read(key, out, 0, max);
  return out;
}

void read_shape(spec::Model& model, HuggingFaceConfig& config, const HuggingFaceDefaults& absent) {
  const std::size_t before = config.faults.size();
  read_count(config, "layers", kLayers, model.layers, absent.layers, spec::kMostLayers);
  read_count(config, "hidden", kHidden, model.hidden, absent.hidden, spec::kMostHidden);
  read_count(config, "heads", kHeads, model.heads, absent.heads, spec::kMostHeads);
  constexpr std::array<std::string_view, 1> head_dim{"head_dim"};
  read_count(config, "vocab", kVocab, model.vocab, absent.vocab, spec::kMostVocab);
  read_derived(config, "kv_heads", kKvHeads, model.kv_heads, absent.kv_heads, model.heads, spec::kMostHeads);
  read_derived(config, "ffn", kFfn, model.ffn, absent.ffn, 4 * model.hidden, spec::kMostFfn);
  read_derived(config, "max_positions", kPositions, model.max_positions, absent.positions, std::int64_t{0},
               spec::kMostPositions);
  read_derived(config, "head_dim", head_dim, model.head_dim, absent.head_dim, 0, spec::kMostHeadDim);
  model.tied_embeddings = config.flag("tie_word_embeddings", absent.tied);
  if (config.faults.size() == before && model.head_dim == 0) {
    const ShapeKeys keys{.layers = written(config, kLayers),
                         .heads = written(config, kHeads),
                         .kv_heads = written(config, kKvHeads),
                         .head_dim = "head_dim"};
    default_head_dim(model, config.map, keys);
  }
}

void read_activation(spec::Model& model, HuggingFaceConfig& config, std::string_view key) {
  using spec::Activation;
  std::string name = model.gated_mlp ? "silu" : "gelu";
  config.map.read(key, name);
  const bool gelu = name.starts_with("gelu"), silu = name == "silu" || name == "swish";
  const bool relu = name == "relu", squared = name == "relu2";
  if (model.gated_mlp && (gelu || silu)) {
    model.activation = gelu ? Activation::geglu : Activation::swiglu;
  } else if (!model.gated_mlp && (gelu || relu || squared)) {
    model.activation = gelu ? Activation::gelu : relu ? Activation::relu : Activation::squared_relu;
  } else {
    config.map.fault(
        key, base::quoted(name) + " is not known in this architecture",
        model.gated_mlp ? "known: silu, gelu and its variants" : "known: relu, relu2, gelu and its variants");
  }
}

void read_rope_scale(spec::Model& model, HuggingFaceConfig& config) {
  const std::string_view key = config.map.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const Value* const written = config.map.child(key);
  if (!written || written->kind != Value::Kind::map || !model.ropes() || model.mla)
    return;  // latent attention has a scale of its own
  MapReader map(*written, config.map.path_of(key), config.faults);
  std::string kind;
  double scaling = 1, attention = 0, own = 0, all = 0, original = 0;
  map.read(map.has("rope_type") ? "rope_type" : "type", kind);
  map.read("factor", scaling, 1, 1e9);
  const bool told = map.read("attention_factor", attention, 0.1, spec::kMostRopeScale);
  map.read("mscale", own, 0, 100);
  map.read("mscale_all_dim", all, 0, 100);
  map.read("original_max_position_embeddings", original, 2, static_cast<double>(spec::kMostPositions));
  const auto yarn = [&](double by) { return 0.1 * by * std::log(scaling) + 1; };
  if (kind == "yarn") {
    model.rope_scale = told ? attention : own > 0 && all > 0 ? yarn(own) / yarn(all) : yarn(1);
  } else if (kind == "longrope" || kind == "su") {
    if (original > 0) scaling = static_cast<double>(model.max_positions) / original;
    const bool longer = original > 0 && scaling > 1;
    model.rope_scale = told ? attention : longer ? std::sqrt(1 + std::log(scaling) / std::log(original)) : 1;
  }
  for (const auto& [name, entry] : written->entries) map.ignore(name);
  map.finish();
}

void read_window(spec::Model& model, HuggingFaceConfig& config, std::int64_t absent) {
  model.window = config.whole("sliding_window", absent, spec::kMostPositions);
}

}  // namespace config
