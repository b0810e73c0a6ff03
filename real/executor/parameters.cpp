// SPDX-License-Identifier: Apache-2.0
#include "real/executor/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <stdexcept>

#include "core/base/fnv.h"
#include "core/plan/adapters.h"
#include "core/plan/low_precision.h"
#include "core/spec/parameters.h"
#include "kernels/normal.h"
#include "real/executor/parts.h"

namespace real {

using plan::Axis;

std::int64_t Part::row_count() const {
  std::int64_t count = 0;
  for (const Range& range : rows) count += range.length;
  return count;
}

void ParameterTable::add(Unit& unit, std::string name, Part part, Start start, bool uncut, bool partial) {
  Parameter* known = find(unit.layer, name);
  if (known == nullptr) {
    Parameter& p = parameters_.emplace_back();
    p.layer = unit.layer;
    p.name = std::move(name);
    p.part = std::move(part);
    p.start = start;
    const bool of_expert = p.name.starts_with("expert ");
    p.copies = of_expert ? Axis::expert_dp : Axis::dp;
    p.shards = of_expert ? c_.expert_shard_axis : c_.shard_axis;
    p.uncut = uncut;
    p.partial_over_tp = partial;
    p.frozen = c_.strategy.lora && p.name.find(" adapter ") == std::string::npos;
    const int ranks = place_.size(p.shards);
    p.sharded = (p.frozen ? c_.fully_sharded : c_.strategy.zero >= 1) && ranks > 1;
    p.reduced_apart = !p.frozen && (p.sharded || (c_.scatters_gradients && place_.size(p.copies) > 1));
    const std::int64_t share = p.share(ranks), begin = std::min(p.count(), place_.coordinate(p.shards) * share);
    p.owned = p.sharded ? Range{begin, std::min(share, p.count() - begin)} : Range{0, p.count()};
    known = &p;
  }
  unit.parameters.push_back(known);
}

void ParameterTable::norm(Unit& unit, const std::string& name, std::int64_t width, bool partial) {
  add(unit, name + ".weight", whole_part(width, 1), Start::one, true, partial);
  if (c_.model.norm != spec::Norm::layernorm || !c_.model.norm_bias) return;
  add(unit, name + ".bias", whole_part(width, 1), Start::zero, true, partial);
}

void ParameterTable::linear(Unit& unit, const std::string& name, Cut cut, Part part, bool bias) {
  const Part of_bias{part.whole_rows, 1, part.rows, {0, 1}};
  const bool whole = cut == Cut::none, partial = whole && c_.sp;  // each rank sees its own tokens
  add(unit, name + ".weight", part, Start::normal, whole, partial);
  if (plan::narrow_alone(c_) && plan::narrow(c_, layer_like(c_.model, unit.layer)) && name != "router") {
    find(unit.layer, name + ".weight")->kept = plan::gathers_narrow(c_) ? Kept::codes : Kept::until_cast;
  }
  if (bias) add(unit, name + ".bias", of_bias, Start::zero, cut != Cut::outputs, partial);
  if (plan::adapted(c_, {name})) adapters(unit, name, part, cut);
}

void ParameterTable::adapters(Unit& unit, const std::string& of, const Part& weight, Cut cut) {
  std::vector<plan::Linear> modules;
  if (of == "qkv") modules = plan::modules_of(plan::qkv_linear(c_));
  if (of == "feed-forward up") modules = plan::modules_of(plan::up_linear(c_));
  if (modules.size() < 2) return adapter(unit, of, weight, cut);
  std::int64_t first = 0;  // row of the layer's matrix that a module's begins with; each has one range of rows here
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const bool copied = of == "qkv" && i > 0;
    const std::int64_t rows = modules[i].out * c_.tp / (copied ? c_.axes[Axis::kv_copies].size : 1);
    const Range own{weight.rows[i].begin - first, weight.rows[i].length};
    adapter(unit, std::string(modules[i].name), rows_part(rows, weight.whole_columns, {own}), cut);
    first += rows;
  }
}

/// y = W x + B A x (core/plan/lora.h): beside a column-parallel W the rows of A are cut, beside a row-parallel one its
/// columns; B's rows are cut beside both. Each expert has a pair of its own, cut over its tensor-parallel ranks.
void ParameterTable::adapter(Unit& unit, const std::string& of, const Part& weight, Cut cut) {
  const bool of_experts = of.starts_with("expert ");
  const Axis axis = of_experts ? Axis::etp : Axis::tp;
  const std::int64_t rank = c_.strategy.lora->rank, in = weight.whole_columns;
  const std::int64_t out = weight.whole_rows / (of_experts ? c_.model.moe->experts : 1);
  const auto share = [&](std::int64_t width) {
    const std::int64_t each = width / place_.size(axis);
    return Range{place_.coordinate(axis) * each, each};
  };
  const auto pair = [&](const Part& one) { return of_experts ? of_each_expert(one) : one; };
  const auto add_pair = [&](Part a, Part b, bool whole) {
    add(unit, of + " adapter A.weight", std::move(a), Start::normal, whole, whole && c_.sp);
    add(unit, of + " adapter B.weight", std::move(b), Start::zero, whole, whole && c_.sp);
  };
  if (cut == Cut::none) {
    add_pair(whole_part(rank, in), whole_part(out, rank), true);
  } else if (cut == Cut::outputs) {
    add_pair(pair(rows_part(rank, in, {share(rank)})), rows_part(weight.whole_rows, rank, weight.rows), false);
  } else {
    add_pair(pair(columns_part(rank, in, weight.columns)), pair(rows_part(out, rank, {share(out)})), false);
  }
}

std::int64_t first_row(const plan::Context& c, const Place& place) {
  return ((c.spread_vocab ? place.stage() * c.tp : 0) + place.tp()) * c.vocab;
}

void ParameterTable::add_table(Unit& unit, const std::string& name) {
  const std::int64_t rows = c_.vocab * c_.tp * (c_.spread_vocab ? c_.pp : 1);
  add(unit, name + ".weight", rows_part(rows, c_.hidden, {{first_row(c_, place_), c_.vocab}}), Start::normal, false);
}

void ParameterTable::add_embedding(Unit& unit) {
  if (!c_.spread_vocab) add_table(unit, "embedding");
  const std::int64_t positions = spec::parameters(c_.model).positions / c_.hidden;
  if (positions > 0) {  // their gradient is that of all tokens where it is made beside the table's
    const bool partial = c_.spread_vocab && c_.sp;
    add(unit, "position embedding.weight", whole_part(positions, c_.hidden), Start::normal, true, partial);
  }
  if (c_.model.embedding_norm) norm(unit, "embedding norm", c_.hidden, c_.sp);
}

void ParameterTable::add_block(Unit& unit) {
  const std::size_t before = unit.parameters.size();
  add_layer(unit);
  for (std::size_t i = before; i < unit.parameters.size(); ++i) {
    unit.parameters[i]->of_narrow_layer = plan::narrow(c_, layer_like(c_.model, unit.layer));
  }
}

void ParameterTable::add_layer(Unit& unit) {
  const spec::Model& m = c_.model;
  const int tp = place_.tp();
  norm(unit, "attention norm", c_.hidden, c_.sp);
  if (m.post_norms) norm(unit, "attention post norm", c_.hidden, c_.sp);
  m.mla ? add_latent_attention(unit) : add_attention(unit);
  linear(unit, "attention output", Cut::inputs,
         columns_part(c_.hidden, c_.context_width * c_.tp, {tp * c_.context_width, c_.context_width}),
         m.has_proj_bias());
  if (m.attention_sinks) {
    add(unit, kSinks, rows_part(std::int64_t{c_.heads} * c_.tp, 1, {{std::int64_t{tp} * c_.heads, c_.heads}}),
        Start::zero, false);
  }
  if (!m.parallel_block || m.norms_in_parallel > 1) norm(unit, "feed-forward norm", c_.hidden, c_.sp);
  if (m.post_norms) norm(unit, "feed-forward post norm", c_.hidden, c_.sp);
  if (c_.experts_in(layer_like(m, unit.layer))) return add_experts(unit);
  linear(unit, "feed-forward up", Cut::outputs, up_part(m.gated_mlp, m.ffn, c_.hidden, {tp * c_.ffn, c_.ffn}), m.bias);
  linear(unit, "feed-forward down", Cut::inputs, columns_part(c_.hidden, m.ffn, {tp * c_.ffn, c_.ffn}), m.bias);
}

void ParameterTable::add_attention(Unit& unit) {
  const spec::Model& m = c_.model;
  const int tp = place_.tp();
  linear(unit, "qkv", Cut::outputs, qkv_part(c_, tp), m.has_qkv_bias());
  if (c_.axes[Axis::kv_copies].size > 1) {
    find(unit.layer, "qkv.weight")->single = c_.q_width * c_.hidden;
    if (m.has_qkv_bias()) find(unit.layer, "qkv.bias")->single = c_.q_width;
    if (Parameter* b = find(unit.layer, "qkv adapter B.weight")) b->single = c_.q_width * c_.strategy.lora->rank;
    for (const char* module : {"keys", "values"}) {
      if (Parameter* b = find(unit.layer, std::string(module) + " adapter B.weight")) b->single = 0;
    }
  }
  if (m.qk_norm) {
    norm(unit, "query norm", m.head_dim, c_.tp > 1);
    norm(unit, "key norm", m.head_dim, c_.tp > 1);
  }
}

/// DeepSeek-V2, arXiv 2405.04434, section 2.1. A head's rows of "query up" are its own part, then the rotary one; of
/// "key and value up" its keys' own part, then its values.
void ParameterTable::add_latent_attention(Unit& unit) {
  const spec::Mla& mla = *c_.model.mla;
  const bool bias = c_.model.has_qkv_bias();
  const std::int64_t queries = c_.q_width, up = std::int64_t{c_.heads} * (mla.nope_head_dim + mla.value_head_dim);
  const auto heads = [&](std::int64_t width, std::int64_t in) {
    return rows_part(width * c_.tp, in, {{place_.tp() * width, width}});
  };
  if (mla.q_lora_rank > 0) {
    linear(unit, "query down", Cut::none, whole_part(mla.q_lora_rank, c_.hidden), bias);
    add(unit, "query norm.weight", whole_part(mla.q_lora_rank, 1), Start::one, true, c_.sp);
    linear(unit, "query up", Cut::outputs, heads(queries, mla.q_lora_rank), false);
  } else {
    linear(unit, "query", Cut::outputs, heads(queries, c_.hidden), false);
  }
  linear(unit, "key and value down", Cut::none, whole_part(mla.kv_lora_rank + mla.rope_head_dim, c_.hidden), bias);
  add(unit, "key and value norm.weight", whole_part(mla.kv_lora_rank, 1), Start::one, true, c_.sp);
  linear(unit, "key and value up", Cut::outputs, heads(up, mla.kv_lora_rank), false);
}

Part ParameterTable::of_each_expert(const Part& one) const {
  const std::int64_t experts = c_.model.moe->experts, local = experts / c_.strategy.ep;
  return repeated(one, experts, place_.coordinate(Axis::ep) * local, local);
}

void ParameterTable::add_experts(Unit& unit) {
  const spec::Moe& moe = *c_.model.moe;
  const bool bias = c_.model.bias, gated = c_.model.gated_mlp;
  linear(unit, "router", Cut::none, whole_part(moe.experts, c_.hidden), moe.router_bias);
  const std::int64_t ffn = moe.ffn / c_.strategy.etp;
  const Range cut{place_.coordinate(Axis::etp) * ffn, ffn};
  linear(unit, "expert up", Cut::outputs, of_each_expert(up_part(gated, moe.ffn, c_.hidden, cut)), bias);
  linear(unit, "expert down", Cut::inputs, of_each_expert(columns_part(c_.hidden, moe.ffn, cut)), bias);
  for (const char* name : {"expert up.weight", "expert down.weight"}) {
    find(unit.layer, name)->scales = moe.experts / c_.strategy.ep;
  }
  if (moe.shared_ffn == 0) return;
  const std::int64_t shared = moe.shared_ffn / c_.tp;
  const Range of_shared{place_.tp() * shared, shared};
  linear(unit, "shared expert up", Cut::outputs, up_part(gated, moe.shared_ffn, c_.hidden, of_shared), bias);
  linear(unit, "shared expert down", Cut::inputs, columns_part(c_.hidden, moe.shared_ffn, of_shared), bias);
}

void ParameterTable::add_head(Unit& unit) {
  norm(unit, "final norm", c_.hidden, c_.sp);
  if (c_.spread_vocab) return;
  if (!c_.model.tied_embeddings) {
    add_table(unit, "output head");
    if (c_.model.head_bias) add_head_bias(unit);
  } else if (!c_.placement.ends_meet() && c_.model.mtp == 0) {  // modules bring the whole embedding
    add_table(unit, "embedding");
  }
}

void ParameterTable::add_head_bias(Unit& unit) {
  const Part rows = find(-1, "output head.weight")->part;
  add(unit, "output head.bias", {rows.whole_rows, 1, rows.rows, {0, 1}}, Start::zero, false);
}

void ParameterTable::add_vocabulary() {
  Unit& unit = vocabulary_.emplace_back();
  add_table(unit, "embedding");
  if (c_.model.tied_embeddings) return;
  add_table(unit, "output head");
  if (c_.model.head_bias) add_head_bias(unit);
}

/// In front of the head, which they share. DeepSeek-V3, arXiv 2412.19437, section 2.2.
void ParameterTable::add_modules(Unit& unit) {
  for (int k = 1; k <= c_.model.mtp; ++k) {
    Unit module{module_layer(c_.model, k), {}};
    norm(module, "multi-token embedding norm", c_.hidden, c_.sp);
    norm(module, "multi-token hidden norm", c_.hidden, c_.sp);
    const std::int64_t share = c_.hidden / c_.tp;
    add(module, "multi-token projection.weight", rows_part(c_.hidden, 2 * c_.hidden, {{place_.tp() * share, share}}),
        Start::normal, false);
    add_block(module);
    norm(module, "final norm", c_.hidden, c_.sp);
    unit.parameters.insert(unit.parameters.end(), module.parameters.begin(), module.parameters.end());
  }
  if (c_.model.mtp > 0 && !c_.placement.ends_meet()) add_embedding(unit);
}

ParameterTable::ParameterTable(const plan::Context& c, const Place& place, const std::vector<plan::Chunk>& chunks)
    : c_(c), place_(place) {
  const auto agree = [&](const Unit& unit, const plan::Held& held) {
    plan::Held mine;
    for (const Parameter* p : unit.parameters) {
      if (!p->frozen) (p->copies == Axis::dp ? mine.dense : mine.experts) += p->count();
    }
    if (mine.dense == held.dense && mine.experts == held.experts) return;
    throw std::logic_error(
        fmt::format("parameters at layer {}: the Plan counts {} and {} of experts, real mode {} and {}", unit.layer,
                    held.dense, held.experts, mine.dense, mine.experts));
  };
  for (const plan::Chunk& chunk : chunks) {
    std::vector<Unit>& units = units_.emplace_back();
    if (chunk.first) {
      add_embedding(units.emplace_back());
      agree(units.back(), plan::embedding_held(c));
    }
    for (int i = 0; i < chunk.layers; ++i) {
      units.push_back({static_cast<std::int16_t>(chunk.first_layer + i), {}});
      add_block(units.back());
      agree(units.back(), plan::layer_parameters(c, chunk.first_layer + i));
    }
    if (chunk.last) {
      add_modules(units.emplace_back());
      add_head(units.back());
      agree(units.back(), plan::last_parameters(c));
    }
  }
  if (!c.spread_vocab) return;
  add_vocabulary();
  agree(vocabulary_.back(), {.dense = plan::vocabulary_share(c)});
}

std::vector<Parameter*> ParameterTable::trained() {
  std::vector<Parameter*> out;
  for (Parameter& p : parameters_) {
    if (!p.frozen) out.push_back(&p);
  }
  return out;
}

Parameter* ParameterTable::find(std::int16_t layer, std::string_view name) {
  for (Parameter& p : parameters_) {
    if (p.layer == layer && p.name == name) return &p;
  }
  return nullptr;
}

bool is_of_both_ends(const spec::Model& model, const Parameter& p) {
  if (p.layer >= 0) return false;
  if (p.name == "embedding.weight") return model.tied_embeddings || model.mtp > 0;
  return model.mtp > 0 && (p.name.starts_with("position embedding.") || p.name.starts_with("embedding norm."));
}

namespace {

std::uint64_t key_of(const Parameter& p, std::uint64_t seed) {
  return base::fnv1a(fmt::format("{}/{}", p.layer, p.name), base::kFnvBasis ^ seed);
}

}  // namespace

std::vector<kernels::Normal> draws_of(const Parameter& p, std::uint64_t seed) {
  std::vector<kernels::Normal> out;
  if (p.start != Start::normal) return out;
  const Part& part = p.part;
  const double deviation = 1 / std::sqrt(static_cast<double>(part.whole_columns));
  const std::uint64_t key = key_of(p, seed);
  for (const Range& rows : part.rows) {
    out.push_back({.deviation = deviation,
                   .key = key,
                   .rows = rows.length,
                   .columns = part.columns.length,
                   .first = rows.begin * part.whole_columns + part.columns.begin,
                   .stride = part.whole_columns});
  }
  return out;
}

std::vector<double> starting_values(const Parameter& p, std::uint64_t seed) {
  std::vector<double> out(p.count(), p.start == Start::one ? 1.0 : 0.0);
  std::span<double> rest(out);
  for (const kernels::Normal& draw : draws_of(p, seed)) {
    kernels::reference::normal(draw, rest);
    rest = rest.subspan(static_cast<std::size_t>(draw.count()));
  }
  return out;
}

}  // namespace real
