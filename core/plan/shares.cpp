// SPDX-License-Identifier: Apache-2.0
#include "core/plan/shares.h"

#include "core/plan/adapters.h"
#include "core/plan/low_precision.h"
#include "core/plan/mla.h"
#include "core/plan/moe_shape.h"
#include "core/plan/multi_token.h"
#include "core/plan/recurrent.h"
#include "core/spec/layer_cuts.h"
#include "core/spec/parameters.h"

namespace plan {
namespace {

std::int64_t attention_parameters(const Context& c) {
  const spec::Model& m = c.model;
  std::int64_t count = spec::wide_qk_norm(m, c.q_width + c.kv_width) + (m.attention_sinks ? c.heads : 0);
  if (m.mla) return count + latent_parameters(c);
  return count + c.hidden * c.qkv_product + c.q_width * c.hidden + (m.has_qkv_bias() ? c.qkv_product : 0) +
         (m.has_proj_bias() ? c.hidden : 0);
}

Held whole_layer(const Context& c, int layer) {
  const spec::Model& m = c.model;
  const spec::LayerParts parts = m.parts_in(layer);
  std::int64_t count = spec::layer_norms(m, parts);
  if (parts.attends()) count += attention_parameters(c);
  if (parts.indexes) count += spec::indexer_parameters(m);
  if (parts.recurs()) count += recurrent_parameters(c);
  if (parts.has_dense()) count += c.hidden * c.up_width + c.ffn * c.hidden + (m.bias ? c.up_width + c.hidden : 0);
  if (!parts.has_experts()) return {count, 0};
  count += spec::router_parameters(m) + spec::latent_projection_parameters(m) + shared_expert_parameters(c);
  return {count, m.moe->experts / c.strategy.ep * expert_parameters(c)};
}

std::int64_t whole_embedding(const Context& c) {
  if (c.model.is_list()) return 0;
  const spec::Parameters whole = spec::end_parameters(c.model);
  return (c.spread_vocab ? 0 : c.vocab * c.hidden) + whole.positions + whole.embedding_norm;
}

std::int64_t whole_head(const Context& c) {
  if (c.model.is_list()) return 0;
  const spec::Parameters whole = spec::end_parameters(c.model);
  if (c.spread_vocab) return whole.final_norm;
  const bool shares_table = c.model.tied_embeddings && c.placement.ends_meet();
  return whole.final_norm + (shares_table ? 0 : c.vocab * c.hidden) + (c.model.head_bias ? c.vocab : 0);
}

/// Whether a layer holds what the one before it does.
bool holds_the_same(const Context& c, int layer) {
  if (c.model.is_list()) return false;
  return c.model.parts_in(layer) == c.model.parts_in(layer - 1) && narrow(c, layer) == narrow(c, layer - 1);
}

}  // namespace

Held layer_parameters(const Context& c, int layer) {
  if (c.model.is_list()) {  // tables are no replica's, but spread over the ranks
    const spec::Layer& l = c.model.list[layer];
    return {l.type == spec::Layer::Type::embedding_bag ? 0 : l.parameters()};
  }
  Held held = whole_layer(c, layer);
  if (c.strategy.lora) return beside_frozen(c, layer, held);
  if (narrow_alone(c) && narrow(c, layer)) {  // norms and biases, a ten-thousandth, among them
    held.narrow_dense = held.dense;
    if (narrow_experts_alone(c)) held.narrow_experts = held.experts;
  }
  return held;
}
std::int64_t embedding_parameters(const Context& c) { return c.strategy.lora ? 0 : whole_embedding(c); }
std::int64_t head_parameters(const Context& c) { return c.strategy.lora ? 0 : whole_head(c); }

Held end_held(const Context& c, std::int64_t parameters) {
  if (c.strategy.lora) return {.frozen_dense = parameters * c.element};
  return {.dense = parameters};
}
Held embedding_held(const Context& c) { return end_held(c, whole_embedding(c)); }

std::int64_t vocabulary_share(const Context& c) {
  if (!c.spread_vocab) return 0;
  return (c.model.tied_embeddings ? 1 : 2) * c.vocab * c.hidden + (c.model.head_bias ? c.vocab : 0);
}

Held last_parameters(const Context& c) {
  Held count = multi_token_parameters(c);
  count += end_held(c, whole_head(c));
  return count;
}

std::int64_t narrow_copies(const Context& c, const Chunk& chunk) {
  if (!keeps_weight_casts(c)) return 0;
  std::int64_t count = 0;
  const auto add = [&](int layer) {
    if (narrow(c, layer)) count += whole_layer(c, layer).total() - spec::layer_norms(c.model, c.model.parts_in(layer));
  };
  for (int i = 0; i < blocks_held(c, chunk); ++i) add(layer_of_block(c, chunk, i));
  const int counted = c.strategy.lora && narrow_alone(c) ? 1 : 0;  // among the frozen weights
  return static_cast<std::int64_t>(static_cast<double>(count) * narrow_bytes(c) * (weight_layouts(c) - counted));
}

int blocks_of(const Context& c, const Chunk& chunk) {
  return chunk.layers + (chunk.last ? c.model.mtp * c.model.module_layers() : 0);
}

int blocks_held(const Context& c, const Chunk& chunk) {
  return chunk.layers + (chunk.last ? c.model.module_copies() * c.model.module_layers() : 0);
}

int layer_of_block(const Context& c, const Chunk& chunk, int block) {
  if (block < chunk.layers) return chunk.first_layer + block;
  return c.model.module_layer((block - chunk.layers) % c.model.module_layers());
}

spec::LayerParts parts_of_block(const Context& c, const Chunk& chunk, int block) {
  if (block < chunk.layers) return c.model.parts_in(chunk.first_layer + block);
  return c.model.module_parts((block - chunk.layers) % c.model.module_layers());
}

std::vector<std::vector<Chunk>> chunks_of(const Context& c) {
  const std::vector<spec::ChunkLayers> split = spec::split_layers(c.model, c.strategy);
  std::vector<std::vector<Chunk>> out(c.pp);
  for (int stage = 0; stage < c.pp; ++stage) {
    int before = 0;
    for (int v = 0; v < c.vpp; ++v) {
      const auto at = static_cast<std::size_t>(c.placement.place(stage, v));
      out[stage].push_back(
          {split[at].first, split[at].count, before, at == 0, at + 1 == split.size(), c.spread_vocab && v == 0});
      before += split[at].count;
    }
  }
  return out;
}

Held chunk_parameters(const Context& c, const Chunk& chunk) {
  Held count, of_layer;
  for (int layer = chunk.first_layer; layer < chunk.first_layer + chunk.layers; ++layer) {
    if (layer == chunk.first_layer || !holds_the_same(c, layer)) of_layer = layer_parameters(c, layer);
    count += of_layer;
  }
  if (chunk.first) count += embedding_held(c);
  if (chunk.last) count += last_parameters(c);
  if (chunk.shares_vocabulary) count.dense += vocabulary_share(c);
  return count;
}

Held stage_parameters(const Context& c, const std::vector<Chunk>& chunks) {
  Held sum;
  for (const Chunk& chunk : chunks) sum += chunk_parameters(c, chunk);
  return sum;
}

std::int64_t moment_bytes(const Context& c) {
  return static_cast<std::int64_t>(spec::bytes_of(c.job.training.moments()));
}

std::int64_t optimizer_bytes(const Context& c) {
  const spec::Optimizer optimizer = c.job.training.optimizer;
  const std::int64_t moment = moment_bytes(c);
  const std::int64_t moments = optimizer == spec::Optimizer::adamw8bit ? 2
                               : optimizer == spec::Optimizer::adamw   ? 2 * moment
                                                                       : moment;
  return moments + (c.job.training.keeps_master() ? 4 : 0);
}

std::int64_t optimizer_scales(const Context& c, std::int64_t parameters) {
  const std::int64_t blocks = (parameters + kMomentBlock - 1) / kMomentBlock;
  return c.job.training.optimizer == spec::Optimizer::adamw8bit ? blocks * 8 : 0;
}

Held optimizer_share(const Context& c, const Held& parameters) {
  if (c.strategy.zero == 0) return parameters;
  const auto share = [&](std::int64_t count, Axis axis) { return (count + c.axes[axis].size - 1) / c.axes[axis].size; };
  return {share(parameters.dense, c.shard_axis), share(parameters.experts, c.expert_shard_axis)};
}

std::int64_t frozen_share(const Context& c, const Held& parameters) {
  if (!c.fully_sharded) return parameters.frozen();
  const auto share = [&](std::int64_t bytes, Axis axis) { return (bytes + c.axes[axis].size - 1) / c.axes[axis].size; };
  return share(parameters.frozen_dense, c.shard_axis) + share(parameters.frozen_experts, c.expert_shard_axis);
}

}  // namespace plan
