// SPDX-License-Identifier: Apache-2.0
#include "core/config/named_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <type_traits>
#include <utility>

#include "core/config/huggingface.h"

namespace config {

bool has_dense_layers(const spec::Model& m) {
  return m.count_layers([](spec::LayerParts parts) { return parts.has_dense(); }) > 0;
}

namespace {

using spec::Model;
using spec::Moe;

std::string letters_of(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) out += static_cast<char>(std::tolower(letter));
  }
  return out;
}

/// The entries of that name: opt-13b is opt-1.3b but for a sign.
std::vector<std::string> entries_named(const std::string& name, const Catalogue& catalogue) {
  const std::string wished = letters_of(name);
  std::vector<std::string> out;
  for (std::string& known : catalogue.names(Catalogue::Kind::model)) {
    if (letters_of(known) == wished) out.push_back(std::move(known));
  }
  return out;
}

bool same_experts(const std::optional<Moe>& a, const std::optional<Moe>& b) {
  if (!a || !b) return !a && !b;
  return a->experts == b->experts && a->top_k == b->top_k && a->ffn == b->ffn && a->shared_ffn == b->shared_ffn &&
         a->latent == b->latent && a->first_dense == b->first_dense && a->every == b->every;
}

/// Of any depth: a run on fewer GPUs cuts layers off, and what is left is that model's.
bool same_shape(const Model& a, const Model& b) {
  return !b.is_list() && a.hidden == b.hidden && a.heads == b.heads && a.kv_heads == b.kv_heads &&
         a.head_dim == b.head_dim && a.gated_mlp == b.gated_mlp && a.mla == b.mla && a.indexer == b.indexer &&
         same_experts(a.moe, b.moe) && (!has_dense_layers(a) || a.ffn == b.ffn);
}

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return fmt::format("{:.5g}", value);
  } else {
    return std::string(name(value));
  }
}

std::string text_of(const std::optional<bool>& value) { return text_of(value.value_or(false)); }

/// Takes details of one map over from the known one.
struct Taker {
  const Value* written;
  std::string path, reason;
  std::vector<std::string>& assumptions;

  template <class T>
  void take(const char* key, T& ours, const T& known) const {
    if (states(key) || ours == known) return;
    ours = known;
    tell(key, text_of(known));
  }

  /// An empty value says as little as none.
  bool states(const char* key) const {
    const Value* value = written->find(key);
    return value != nullptr && value->kind != Value::Kind::null;
  }
  void tell(const char* key, const std::string& value) const {
    assumptions.push_back(path + key + ": " + value + reason);
  }
};

void take_qk_norm(Model& m, const Model& known, const Taker& from) {
  if (from.states("qk_norm") || !known.qk_norm) return;
  m.qk_norm = true;
  m.qk_scale = known.qk_scale;
  from.tell("qk_norm", m.qk_scale == spec::QkScale::head    ? "true"
                       : m.qk_scale == spec::QkScale::width ? "width"
                                                            : "unscaled");
}

void take_attention(Model& m, const Model& known, const Taker& from) {
  take_qk_norm(m, known, from);
  from.take("nope_every", m.nope_every, known.nope_every);
  from.take("rope_scale", m.rope_scale, known.rope_scale);
  from.take("attention_gate", m.attention_gate, known.attention_gate);
  from.take("attention_sinks", m.attention_sinks, known.attention_sinks);
  from.take("window", m.window, known.window);
  from.take("attention_chunk", m.attention_chunk, known.attention_chunk);
  if (m.window == 0 && m.attention_chunk == 0) return;
  from.take("window_every", m.window_every, known.window_every);
  from.take("full_every", m.full_every, known.full_every);
}

void take_norms_and_biases(Model& m, const Model& known, const Taker& from) {
  from.take("norm", m.norm, known.norm);
  from.take("norm_bias", m.norm_bias, known.norm_bias);
  from.take("embedding_norm", m.embedding_norm, known.embedding_norm);
  from.take("post_norms", m.post_norms, known.post_norms);
  from.take("parallel_block", m.parallel_block, known.parallel_block);
  from.take("norms_in_parallel", m.norms_in_parallel, known.norms_in_parallel);
  if (!from.states("bias")) {  // which speaks for those of attention as well
    from.take("bias", m.bias, known.bias);
    from.take("qkv_bias", m.qkv_bias, known.qkv_bias);
    from.take("proj_bias", m.proj_bias, known.proj_bias);
  }
  from.take("head_bias", m.head_bias, known.head_bias);
  from.take("activation", m.activation, known.activation);
}

void take_ends(Model& m, const Model& known, const Taker& from) {
  from.take("position", m.position, known.position);
  if (m.position == spec::Position::learned && known.position == m.position)
    from.take("max_positions", m.max_positions, known.max_positions);
  from.take("tied_embeddings", m.tied_embeddings, known.tied_embeddings);
}

void take_routing(Moe& moe, const Moe& known, const Taker& from) {
  from.take("router_bias", moe.router_bias, known.router_bias);
  if (from.states("groups") || from.states("top_groups")) return;
  from.take("groups", moe.groups, known.groups);
  from.take("top_groups", moe.top_groups, known.top_groups);
}

/// `written`: the model's map with its `base` laid under it.
void complete_as_named(Model& model, const Value& written, const Catalogue& catalogue,
                       std::vector<std::string>& assumptions) {
  if (written.kind != Value::Kind::map || is_huggingface(written) || model.is_list() || model.name.empty()) return;
  for (const std::string& name : entries_named(model.name, catalogue)) {
    Faults its;  // faults of the catalogue are not this Job's
    const Model known = catalogue.model(scalar(name), "model", its);
    if (!its.empty() || !same_shape(model, known)) continue;
    const std::string reason = " (" + name + "'s, which it is by name and shape)";
    const Taker from{&written, "model.", reason, assumptions};
    take_attention(model, known, from);
    take_norms_and_biases(model, known, from);
    take_ends(model, known, from);
    if (model.moe) take_routing(*model.moe, *known.moe, {written.find("moe"), "model.moe.", reason, assumptions});
    return;
  }
}

}  // namespace

Model read_named_model(const Value& at, const Catalogue& catalogue, Faults& faults,
                       std::vector<std::string>& assumptions) {
  const std::size_t before = faults.size();
  const bool of_catalogue = at.kind == Value::Kind::scalar && !catalogue.path(Catalogue::Kind::model, at.text).empty();
  Model model = catalogue.model(at, "model", faults, of_catalogue ? nullptr : &assumptions);
  if (faults.size() != before || of_catalogue) return model;
  complete_as_named(model, catalogue.expanded(Catalogue::Kind::model, at, "model", faults), catalogue, assumptions);
  return model;
}

}  // namespace config
