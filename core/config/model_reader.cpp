// SPDX-License-Identifier: Apache-2.0
#include "core/config/model_reader.h"

#include <cstdio>
#include <optional>

#include "core/base/text.h"
#include "core/config/layer_list_reader.h"

namespace config {
namespace {

using spec::Activation;
using spec::Mla;
using spec::Model;
using spec::Moe;

std::optional<Moe> read_moe(const Value& map, const std::string& path, Faults& faults) {
  Moe moe;
  const std::size_t before = faults.size();
  MapReader reader(map, path, faults, "moe: {experts: 8, top_k: 2, ffn: 14336}");
  reader.require("experts", moe.experts, 1, spec::kMostExperts);
  reader.require("top_k", moe.top_k, 1, spec::kMostExperts);
  reader.require("ffn", moe.ffn, 1, spec::kMostFfn);
  reader.read("shared_experts", moe.shared_experts, 0, spec::kMostExperts);
  const bool width_given = reader.read("shared_ffn", moe.shared_ffn, 0, spec::kMostFfn);
  reader.read("first_dense", moe.first_dense, 0, spec::kMostLayers);
  reader.read("every", moe.every, 1, spec::kMostLayers);
  reader.read("groups", moe.groups, 1, spec::kMostExperts);
  reader.read("top_groups", moe.top_groups, 1, spec::kMostExperts);
  reader.read("router_bias", moe.router_bias);
  reader.read("latent", moe.latent, 0, spec::kMostHidden);
  reader.read("shared_gate", moe.shared_gate);
  if (faults.size() == before) {
    check_experts(moe, reader, "top_k");
    if (moe.top_k <= moe.experts) check_groups(moe, reader, "groups", "top_groups");
  }
  if (!width_given) moe.shared_ffn = moe.shared_experts * moe.ffn;
  reader.finish();
  return moe;
}

std::optional<Mla> read_mla(const Value& map, const std::string& path, Faults& faults) {
  Mla mla;
  MapReader reader(map, path, faults,
                   "mla: {kv_lora_rank: 512, rope_head_dim: 64, nope_head_dim: 128, value_head_dim: 128}");
  reader.read("q_lora_rank", mla.q_lora_rank, 0, spec::kMostHidden);
  reader.require("kv_lora_rank", mla.kv_lora_rank, 1, spec::kMostHidden);
  reader.require("rope_head_dim", mla.rope_head_dim, 1, spec::kMostHeadDim);
  reader.require("nope_head_dim", mla.nope_head_dim, 1, spec::kMostHeadDim);
  reader.require("value_head_dim", mla.value_head_dim, 1, spec::kMostHeadDim);
  reader.finish();
  return mla;
}

std::optional<spec::Indexer> read_indexer(const Value& map, const std::string& path, Faults& faults) {
  spec::Indexer indexer;
  MapReader reader(map, path, faults, "indexer: {heads: 64, head_dim: 128, top_k: 2048}");
  reader.require("heads", indexer.heads, 1, spec::kMostHeads);
  reader.require("head_dim", indexer.head_dim, 1, spec::kMostHeadDim);
  reader.require("top_k", indexer.top_k, 1, spec::kMostPositions);
  reader.read("first", indexer.first, 1, spec::kMostLayers);
  reader.read("every", indexer.every, 1, spec::kMostLayers);
  reader.finish();
  return indexer;
}

using spec::Recurrent;

std::optional<Recurrent> read_recurrent(const Value& map, const std::string& path, Faults& faults) {
  Recurrent r;
  const std::size_t before = faults.size();
  MapReader reader(map, path, faults, "recurrent: {kind: mamba2, heads: 64, head_dim: 64, groups: 8, state: 128}");
  reader.require("kind", r.kind);
  reader.require("heads", r.heads, 1, spec::kMostHeads);
  reader.require("head_dim", r.head_dim, 1, spec::kMostHeadDim);
  r.groups = r.kind == Recurrent::Kind::mamba2 ? 1 : r.heads;
  reader.read("groups", r.groups, 1, spec::kMostHeads);
  reader.require("state", r.state, 1, spec::kMostHeadDim);
  reader.read("conv", r.conv, 1, 64);
  r.chunk = spec::usual_chunk(r.kind);
  reader.read("chunk", r.chunk, 1, 65'536);
  reader.read("attention_every", r.attention_every, 0, spec::kMostLayers);
  if (faults.size() == before && r.heads % r.groups != 0) {
    reader.fault("groups", std::to_string(r.groups) + " do not divide " + std::to_string(r.heads) + " heads",
                 "write a divisor of the heads: each group's keys serve as many");
  }
  reader.finish();
  return r;
}

/// One letter for each layer, and what the letters need.
void check_pattern(const Model& model, MapReader& map) {
  const std::string& pattern = model.pattern;
  const std::size_t odd = pattern.find_first_not_of(Model::kPatternLetters);
  if (odd != std::string::npos) {
    map.fault(
        "pattern", "has " + base::quoted(pattern.substr(odd, 1)) + " at its " + std::to_string(odd + 1) + ". place",
        "write M (mamba2) or G (gated_delta), * (attention), - (dense feed-forward) or E (experts) for each layer");
  } else if (static_cast<int>(pattern.size()) != model.layers) {
    map.fault("pattern",
              "has " + std::to_string(pattern.size()) + " letters for " + std::to_string(model.layers) + " layers",
              "write one letter a layer, or layers: " + std::to_string(pattern.size()));
  }
  const auto needs = [&](char letter, const char* key, bool there) {
    if (pattern.find(letter) == std::string::npos || there) return;
    map.fault("pattern", std::string("has ") + letter + ", and the model no " + key, std::string("add ") + key);
  };
  const auto is = [&](Recurrent::Kind kind) { return model.recurrent && model.recurrent->kind == kind; };
  needs('M', "recurrent: {kind: mamba2, ...}", is(Recurrent::Kind::mamba2));
  needs('G', "recurrent: {kind: gated_delta, ...}", is(Recurrent::Kind::gated_delta));
  needs('E', "moe", model.moe.has_value());
  if (model.recurrent && model.recurrent->attention_every > 0) {
    map.fault("pattern", "says which layers attend, and so does recurrent.attention_every", "leave one of them out");
  }
  if (model.moe && (model.moe->first_dense > 0 || model.moe->every > 1)) {
    map.fault("pattern", "says which layers have experts, and so do moe.first_dense and moe.every", "leave these out");
  }
}

/// Layers of the modules of multi-token prediction, where layers of the model are of one part each.
void check_module_pattern(const Model& model, MapReader& map) {
  const std::string& pattern = model.mtp_pattern;
  if (pattern.empty()) {
    if (model.mtp == 0 || model.pattern.empty()) return;
    map.fault("mtp", "does not say which layers a module has, and the model has a pattern",
              "write mtp_pattern, such as \"*E\", or mtp: 0");
  } else if (model.pattern.empty()) {
    map.fault("mtp_pattern", "is for a model with a pattern; here a module has one layer like the last",
              "leave mtp_pattern out");
  } else if (model.layers + std::ssize(pattern) > spec::kMostLayers) {
    map.fault("mtp_pattern", "has " + std::to_string(pattern.size()) + " letters",
              "write at most " + std::to_string(spec::kMostLayers) + " with the model's own layers");
  } else if (const auto odd = pattern.find_first_not_of(model.pattern); odd != std::string::npos) {
    map.fault("mtp_pattern", "has " + base::quoted(pattern.substr(odd, 1)) + ", which the model's pattern has not",
              "write letters of " + base::quoted(model.pattern));
  }
}

void check_recurrent(const Model& model, MapReader& map) {
  if (!model.pattern.empty()) check_pattern(model, map);
  check_module_pattern(model, map);
  if (!model.recurrent && model.pattern.empty()) return;
  if (model.parallel_block || model.post_norms) {
    map.fault(model.parallel_block ? "parallel_block" : "post_norms",
              "in a model with recurrent layers or a pattern is not supported by this version", "write false");
  }
}

/// The kernels behind an indexer read latent vectors, and its queries are made of the compressed ones.
void check_indexer(const Model& model, MapReader& map) {
  if (!model.indexer) return;
  if (!model.mla || model.mla->q_lora_rank == 0) {
    map.fault("indexer", "chooses keys of latent attention with compressed queries, and the model has none",
              "add mla with a q_lora_rank, or leave indexer out");
  }
  if (model.recurrent || !model.pattern.empty()) {
    map.fault("indexer", "in a model with recurrent layers or a pattern is not supported by this version",
              "leave one of them out");
  }
  if (!model.causal || model.window > 0 || model.attention_chunk > 0) {
    map.fault("indexer", "beside a window, chunks or attention to both sides is not supported by this version",
              "write causal: true without window and attention_chunk");
  }
}

bool has_dense_layer(const Model& model) {
  if (!model.pattern.empty()) return model.pattern.find('-') != std::string::npos;
  return !model.moe || model.moe->first_dense > 0 || model.moe->every > 1;
}

/// The dense feed-forward's width may be left out where no layer has one; it is then an expert's.
void read_ffn(Model& model, MapReader& map) {
  if (has_dense_layer(model)) {
    map.require("ffn", model.ffn, 1, spec::kMostFfn);
  } else if (!map.read("ffn", model.ffn, 1, spec::kMostFfn)) {
    model.ffn = model.moe ? model.moe->ffn : model.hidden;
  }
}

/// Heads of attention may be left out where no layer attends; they are then the recurrent layers' own.
void read_heads(Model& model, MapReader& map) {
  const bool attends = !model.recurrent || (model.pattern.empty() ? model.recurrent->attention_every > 0
                                                                  : model.pattern.find('*') != std::string::npos);
  if (attends) {
    map.require("heads", model.heads, 1, spec::kMostHeads);
  } else if (!map.read("heads", model.heads, 1, spec::kMostHeads)) {
    model.heads = model.recurrent->heads;
    model.head_dim = model.recurrent->head_dim;
  }
}

/// Two up-projections need an activation that joins them, and one must not have it.
void read_activation(Model& model, MapReader& map) {
  model.activation = model.gated_mlp ? Activation::swiglu : Activation::gelu;
  const bool given = map.read("activation", model.activation);
  const bool gated = spec::gates(model.activation);
  if (!given || gated == model.gated_mlp) return;
  if (gated) {
    map.fault("activation", "is a gated one, and gated_mlp is false",
              "write gated_mlp: true, or activation: gelu, relu or squared_relu");
  } else {
    map.fault("activation", "is not a gated one, and gated_mlp is true",
              "write swiglu, geglu or clamped_swiglu, or gated_mlp: false");
  }
}

/// A norm of queries and keys, and what it scales by.
void read_qk_norm(Model& model, MapReader& map) {
  enum class Written { none, head, width, unscaled };
  Written written = Written::none;
  map.read(
      "qk_norm", written,
      {{"false", Written::none}, {"true", Written::head}, {"width", Written::width}, {"unscaled", Written::unscaled}});
  model.qk_norm = written != Written::none;
  if (written == Written::width) model.qk_scale = spec::QkScale::width;
  if (written == Written::unscaled) model.qk_scale = spec::QkScale::none;
}

void read_attention(Model& model, MapReader& map) {
  model.kv_heads = model.heads;
  map.read("kv_heads", model.kv_heads, 1, spec::kMostHeads);
  map.read("causal", model.causal);
  read_qk_norm(model, map);
  map.read("window", model.window, 0, spec::kMostPositions);
  map.read("window_every", model.window_every, 1, spec::kMostLayers);
  map.read("attention_chunk", model.attention_chunk, 0, spec::kMostPositions);
  map.read("full_every", model.full_every, 0, spec::kMostLayers);
  map.read("nope_every", model.nope_every, 0, spec::kMostLayers);
  map.read("attention_gate", model.attention_gate);
  map.read("attention_sinks", model.attention_sinks);
  map.read("position", model.position);
  map.read("rope_scale", model.rope_scale, 0.1, spec::kMostRopeScale);
  map.read("max_positions", model.max_positions, 0, spec::kMostPositions);
}

void read_norms_and_biases(Model& model, MapReader& map) {
  model.norm = model.gated_mlp ? spec::Norm::rmsnorm : spec::Norm::layernorm;
  map.read("norm", model.norm);
  map.read("norm_bias", model.norm_bias);
  map.read("embedding_norm", model.embedding_norm);
  map.read("post_norms", model.post_norms);
  map.read("parallel_block", model.parallel_block);
  map.read("norms_in_parallel", model.norms_in_parallel, 1, 2);
  map.read("bias", model.bias);
  map.read("qkv_bias", model.qkv_bias);
  map.read("proj_bias", model.proj_bias);
  map.read("head_bias", model.head_bias);
}

void read_transformer(Model& model, MapReader& map, Faults& faults) {
  const std::size_t before = faults.size();
  map.require("layers", model.layers, 1, spec::kMostLayers);
  map.require("hidden", model.hidden, 1, spec::kMostHidden);
  map.part("recurrent", model.recurrent, read_recurrent);
  map.read("pattern", model.pattern);
  read_heads(model, map);
  map.require("vocab", model.vocab, 1, spec::kMostVocab);
  map.read("tied_embeddings", model.tied_embeddings);
  map.read("gated_mlp", model.gated_mlp);
  map.read("mtp", model.mtp, 0, 100);
  map.read("mtp_pattern", model.mtp_pattern);
  map.read("mtp_repeated", model.mtp_repeated);
  map.part("moe", model.moe, read_moe);
  map.part("mla", model.mla, read_mla);
  map.part("indexer", model.indexer, read_indexer);
  read_ffn(model, map);
  read_activation(model, map);
  read_attention(model, map);
  read_norms_and_biases(model, map);
  const bool head_dim = map.read("head_dim", model.head_dim, 1, spec::kMostHeadDim);
  if (faults.size() != before) return;  // what follows is derived from what could not be read
  if (!head_dim && model.head_dim == 0) default_head_dim(model, map);
  if (faults.size() == before) check_recurrent(model, map);
  if (faults.size() == before) check_indexer(model, map);
  if (faults.size() == before) check_shape(model, map);
}

/// About how many parameters a model has, in a number that cannot overflow.
double rough_parameters(const Model& model) {
  const double hidden = static_cast<double>(model.hidden), heads = model.heads;
  double block = hidden * 2.0 * static_cast<double>(model.q_width() + model.kv_width());
  if (const auto& mla = model.mla) {
    block += (hidden + heads * (mla->nope_head_dim + mla->rope_head_dim)) * (mla->q_lora_rank + 1.0) +
             (hidden + heads * (mla->nope_head_dim + mla->value_head_dim)) * (mla->kv_lora_rank + 1.0) +
             hidden * (mla->rope_head_dim + heads * (mla->nope_head_dim + mla->rope_head_dim + mla->value_head_dim));
  }
  if (const auto& i = model.indexer) {
    block +=
        1.0 * i->heads * i->head_dim * (model.mla ? model.mla->q_lora_rank : 0) + hidden * (i->head_dim + i->heads);
  }
  if (const auto& r = model.recurrent) block += hidden * static_cast<double>(r->in_width() + r->value_width());
  block += 3 * hidden * static_cast<double>(model.ffn);
  if (const auto& moe = model.moe) {
    const double width = static_cast<double>(model.expert_width()), ffn = static_cast<double>(moe->ffn);
    block += 3 * width * moe->experts * ffn +
             hidden * (3 * static_cast<double>(moe->shared_ffn) + moe->experts + 2 * static_cast<double>(moe->latent));
  }
  const double rows = 2.0 * static_cast<double>(model.vocab) + static_cast<double>(model.max_positions);
  return block * (model.layers + 1.0 * model.mtp * model.module_layers()) + hidden * (rows + 2 * hidden * model.mtp);
}

}  // namespace

void default_head_dim(Model& model, MapReader& map, const ShapeKeys& keys) {
  if (model.mla) {
    model.head_dim = model.mla->nope_head_dim + model.mla->rope_head_dim;
  } else if (model.hidden % model.heads != 0) {
    map.fault(keys.heads,
              std::to_string(model.heads) + " heads do not divide a hidden size of " + std::to_string(model.hidden),
              "add " + std::string(keys.head_dim) + ", or mend one of the two");
  } else if (model.hidden / model.heads > spec::kMostHeadDim) {
    map.fault(keys.heads, "a head would be " + std::to_string(model.hidden / model.heads) + " wide",
              "use more heads: a head is at most " + std::to_string(spec::kMostHeadDim) + " wide");
  } else {
    model.head_dim = static_cast<int>(model.hidden / model.heads);
  }
}

void check_experts(const Moe& moe, MapReader& map, std::string_view top_k_key) {
  if (moe.top_k <= moe.experts) return;
  map.fault(top_k_key,
            "a token cannot visit " + std::to_string(moe.top_k) + " of " + std::to_string(moe.experts) + " experts",
            "write at most the number of experts");
}

void check_groups(const Moe& moe, MapReader& map, std::string_view groups_key, std::string_view top_groups_key) {
  if (moe.experts % moe.groups != 0) {
    map.fault(groups_key,
              std::to_string(moe.experts) + " experts do not divide into " + std::to_string(moe.groups) + " groups",
              "write a divisor of the number of experts");
  } else if (moe.top_groups > moe.groups) {
    map.fault(
        top_groups_key,
        "a token cannot visit " + std::to_string(moe.top_groups) + " of " + std::to_string(moe.groups) + " groups",
        "write at most the number of groups");
  } else if (moe.top_k > moe.top_groups * (moe.experts / moe.groups)) {
    map.fault(top_groups_key,
              std::to_string(moe.top_groups) + " groups of " + std::to_string(moe.experts / moe.groups) +
                  " experts have no " + std::to_string(moe.top_k) + " that a token visits",
              "write more groups, or a smaller top_k");
  }
}

void check_shape(const Model& model, MapReader& map, const ShapeKeys& keys) {
  if (model.heads % model.kv_heads != 0) {
    map.fault(keys.kv_heads,
              std::to_string(model.kv_heads) + " do not divide " + std::to_string(model.heads) + " heads",
              "write a divisor of the heads: each key and value serves as many queries");
  }
  if (const double size = rough_parameters(model); size > spec::kMostParameters) {
    char text[64];
    std::snprintf(text, sizeof text, "the model would have about %.1e parameters", size);
    map.fault(keys.layers, text, "check layers and widths for a digit too many: at most 1e15 parameters are read");
  }
}

Model read_model(const Value& map, const std::string& path, Faults& faults) {
  Model model;
  MapReader reader(map, path, faults);
  reader.ignore("source");
  reader.ignore("base");  // followed before
  reader.read("name", model.name);
  bool layers = false;
  reader.read("kind", layers, {{"transformer", false}, {"layers", true}});
  if (layers) {
    model.kind = "layers";
    reader.ignore("input");
    if (const Value* list = reader.child("operators")) {
      model.list = read_layer_list(*list, reader.path_of("operators"), faults);
    } else {
      reader.fault("operators", "is missing", "add `operators: [{type: dense, in: 64, out: 10}]`");
    }
    model.layers = static_cast<int>(model.list.size());
  } else if (map.kind == Value::Kind::map) {
    read_transformer(model, reader, faults);
  }
  reader.finish();
  return model;
}

}  // namespace config
