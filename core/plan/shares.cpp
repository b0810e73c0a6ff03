// SPDX-License-Identifier: Apache-2.0
#include "core/plan/shares.h"

#include "core/plan/mla.h"
#include "core/plan/moe_shape.h"
#include "core/plan/multi_token.h"
#include "core/spec/parameters.h"

namespace plan {

Held layer_parameters(const Context& c, int layer) {
  const spec::Model& m = c.model;
  std::int64_t count = 0;
  if (m.mla) {
    count += latent_parameters(c);
  } else {
    count += c.hidden * c.qkv_width + c.q_width * c.hidden + (m.has_qkv_bias() ? c.qkv_width : 0) +
             (m.has_proj_bias() ? c.hidden : 0);
  }
  if (m.attention_sinks) count += c.heads;
  count += spec::block_parameters(m).norms;
  if (c.experts_in(layer)) {
    count += c.hidden * m.moe->experts + (m.moe->router_bias ? m.moe->experts : 0) + shared_expert_parameters(c);
    return {count, m.moe->experts / c.strategy.ep * expert_parameters(c)};
  }
  count += c.hidden * c.up_width + c.ffn * c.hidden;
  if (m.bias) count += c.up_width + c.hidden;
  return {count, 0};
}

std::int64_t embedding_parameters(const Context& c) {
  const spec::Parameters whole = spec::parameters(c.model);
  return c.vocab * c.hidden + whole.positions + whole.embedding_norm;
}

std::int64_t head_parameters(const Context& c) {
  const spec::Parameters whole = spec::parameters(c.model);
  const bool shares_table = c.model.tied_embeddings && c.placement.ends_meet();
  return whole.final_norm + (shares_table ? 0 : c.vocab * c.hidden) + (c.model.head_bias ? c.vocab : 0);
}

Held last_parameters(const Context& c) {
  Held count = multi_token_parameters(c);
  count.dense += head_parameters(c);
  return count;
}

std::vector<std::vector<Chunk>> chunks_of(const Context& c) {
  const std::vector<spec::ChunkLayers> split = spec::split_layers(c.model, c.strategy);
  std::vector<std::vector<Chunk>> out(c.pp);
  for (int stage = 0; stage < c.pp; ++stage) {
    int before = 0;
    for (int v = 0; v < c.vpp; ++v) {
      const auto at = static_cast<std::size_t>(c.placement.place(stage, v));
      out[stage].push_back({split[at].first, split[at].count, before, at == 0, at + 1 == split.size()});
      before += split[at].count;
    }
  }
  return out;
}

Held chunk_parameters(const Context& c, const Chunk& chunk) {
  Held count;
  for (int i = 0; i < chunk.layers; ++i) count += layer_parameters(c, chunk.first_layer + i);
  if (chunk.first) count.dense += embedding_parameters(c);
  if (chunk.last) count += last_parameters(c);
  return count;
}

std::int64_t optimizer_bytes(const Context& c) {
  const std::int64_t moments = c.job.training.optimizer == spec::Optimizer::adamw ? 8 : 4;
  return moments + (c.job.training.keeps_master() ? 4 : 0);
}

Held optimizer_share(const Context& c, const Held& parameters) {
  if (c.strategy.zero == 0) return parameters;
  const auto share = [&](std::int64_t count, Axis axis) { return (count + c.axes[axis].size - 1) / c.axes[axis].size; };
  return {share(parameters.dense, c.shard_axis), share(parameters.experts, Axis::expert_dp)};
}

}  // namespace plan
