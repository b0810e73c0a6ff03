// SPDX-License-Identifier: Apache-2.0
#include "core/spec/parameters.h"

namespace spec {
namespace {

/// Numbers in one norm over `width` features: a scale, and a shift where the norm has one.
std::int64_t norm_size(const Model& model, std::int64_t width) {
  const bool shifted = model.norm == Norm::layernorm && model.norm_bias;
  return shifted ? 2 * width : width;
}

int norms_in_block(const Model& model, LayerParts parts) {
  const int before = model.parallel_block ? model.norms_in_parallel : parts.branches();
  return model.post_norms ? before + 2 : before;
}

std::int64_t attention_size(const Model& model) {
  const std::int64_t qkv_width = model.gated_q_width() + 2 * model.kv_width();
  const std::int64_t weights = model.hidden * (qkv_width + model.q_width());
  return weights + (model.has_qkv_bias() ? qkv_width : 0) + (model.has_proj_bias() ? model.hidden : 0) +
         (model.attention_sinks ? model.heads : 0) + wide_qk_norm(model, model.q_width() + model.kv_width());
}

struct MlaSize {
  std::int64_t weights = 0, norms = 0, biases = 0;
};

/// DeepSeek-V2 (arXiv 2405.04434, section 2.1): queries, and keys with values, go through a narrow normed vector each;
/// the rotary part of the keys is shared by all heads.
MlaSize mla_size(const Model& model, const Mla& mla) {
  const std::int64_t heads = model.heads;
  const std::int64_t q_width = heads * (mla.nope_head_dim + mla.rope_head_dim);
  const std::int64_t kv_width = heads * (mla.nope_head_dim + mla.value_head_dim);
  const std::int64_t q_rank = mla.q_lora_rank, kv_rank = mla.kv_lora_rank;
  MlaSize size;
  size.weights = q_rank > 0 ? q_rank * (model.hidden + q_width) : model.hidden * q_width;
  size.weights += model.hidden * (kv_rank + mla.rope_head_dim) + kv_rank * kv_width;
  size.weights += heads * mla.value_head_dim * model.hidden;
  size.norms = q_rank + kv_rank;  // always rmsnorms
  // Hugging Face's attention_bias: on both projections down and on the output, never on those up to the heads.
  size.biases =
      (model.has_qkv_bias() ? q_rank + kv_rank + mla.rope_head_dim : 0) + (model.has_proj_bias() ? model.hidden : 0);
  return size;
}

/// One feed-forward of inner width `ffn` on vectors of `width`, biases included.
std::int64_t feed_forward_size(const Model& model, std::int64_t width, std::int64_t ffn) {
  const std::int64_t up = model.gated_mlp ? 2 * ffn : ffn;
  return width * (up + ffn) + (model.bias ? up + width : 0);
}

/// Adds one block to the sums.
void add_block(Parameters& sum, const Model& model, LayerParts parts) {
  sum.norms += layer_norms(model, parts);
  if (parts.recurs()) {
    sum.recurrent += recurrent_weights(model) + recurrent_vectors(model);
    sum.norms += recurrent_norm(model);
  } else if (parts.attends() && model.mla) {
    const MlaSize mla = mla_size(model, *model.mla);
    sum.attention += mla.weights + mla.biases + (model.attention_sinks ? model.heads : 0);
    sum.norms += mla.norms;
  } else if (parts.attends()) {
    sum.attention += attention_size(model);
  }
  if (parts.indexes) sum.indexer += indexer_parameters(model);
  if (parts.has_dense()) sum.feed_forward += feed_forward_size(model, model.hidden, model.ffn);
  if (!parts.has_experts()) return;
  sum.router += router_parameters(model);
  sum.latent += latent_projection_parameters(model);
  sum.experts += model.moe->experts * feed_forward_size(model, model.expert_width(), model.moe->ffn);
  if (model.moe->shared_ffn > 0) sum.shared_experts += feed_forward_size(model, model.hidden, model.moe->shared_ffn);
}

/// One multi-token-prediction module (DeepSeek-V3, arXiv 2412.19437, section 2.2): two norms, a projection of the
/// joined vectors, one block like the last (or mtp_pattern's), one norm. Embedding and head are shared with the model.
std::int64_t multi_token_size(const Model& model) {
  Parameters block;
  for (int i = 0; i < model.module_layers(); ++i) add_block(block, model, model.module_parts(i));
  return block.total() + 2 * model.hidden * model.hidden + 3 * norm_size(model, model.hidden);
}

}  // namespace

std::int64_t latent_attention_weights(const Model& model) { return mla_size(model, *model.mla).weights; }

std::int64_t indexer_weights(const Model& model) {
  const Indexer& i = *model.indexer;
  return std::int64_t{model.mla->q_lora_rank} * i.heads * i.head_dim + model.hidden * (i.head_dim + i.heads);
}

std::int64_t indexer_parameters(const Model& model) {
  return indexer_weights(model) + 2 * std::int64_t{model.indexer->head_dim};  // always a layernorm
}

std::int64_t wide_qk_norm(const Model& model, std::int64_t width) {
  return model.qk_norm && model.qk_scale == QkScale::width ? norm_size(model, width) : 0;
}

std::int64_t router_parameters(const Model& model) {
  const Moe& moe = *model.moe;
  return model.hidden * (moe.experts + (moe.shared_gate ? 1 : 0)) + (moe.router_bias ? moe.experts : 0);
}

std::int64_t latent_projection_parameters(const Model& model) {
  const std::int64_t latent = model.moe->latent;
  if (latent == 0) return 0;
  return 2 * model.hidden * latent + (model.bias ? latent + model.hidden : 0);
}

std::int64_t recurrent_weights(const Model& model) {
  return model.hidden * (model.recurrent->in_width() + model.recurrent->value_width());
}

std::int64_t recurrent_vectors(const Model& model) {
  const Recurrent& r = *model.recurrent;
  // mamba2: the convolution's bias, and of each head a decay, a step's bias and a skip; gated_delta: the first two.
  const bool mamba = r.kind == Recurrent::Kind::mamba2;
  return r.conv_width() * (r.conv + (mamba ? 1 : 0)) + std::int64_t{mamba ? 3 : 2} * r.heads;
}

std::int64_t recurrent_norm(const Model& model) {
  const Recurrent& r = *model.recurrent;
  return r.kind == Recurrent::Kind::mamba2 ? r.value_width() : r.head_dim;
}

std::int64_t layer_norms(const Model& model, LayerParts parts) {
  const bool of_head = parts.attends() && model.qk_norm && model.qk_scale == QkScale::head;
  const std::int64_t heads = of_head ? 2 * norm_size(model, model.head_dim) : 0;
  return norms_in_block(model, parts) * norm_size(model, model.hidden) + heads;
}

std::int64_t norm_parameters(const Model& model) { return norm_size(model, model.hidden); }

BlockParameters block_parameters(const Model& model) {
  BlockParameters block;
  const std::int64_t qkv_width = model.gated_q_width() + 2 * model.kv_width();
  block.qkv = model.hidden * qkv_width;
  block.proj = model.q_width() * model.hidden;
  block.up = model.hidden * model.up_width();
  block.down = model.ffn * model.hidden;
  // The sinks and the scales of a norm over all heads are cut with the heads, as the bias of the queries is.
  block.qkv_bias = (model.has_qkv_bias() ? qkv_width : 0) + (model.attention_sinks ? model.heads : 0) +
                   wide_qk_norm(model, model.q_width() + model.kv_width());
  block.proj_bias = model.has_proj_bias() ? model.hidden : 0;
  block.up_bias = model.bias ? model.up_width() : 0;
  block.down_bias = model.bias ? model.hidden : 0;
  block.norms = layer_norms(model, {});
  return block;
}

Parameters end_parameters(const Model& model) {
  Parameters sum;
  sum.embedding = model.vocab * model.hidden;
  sum.positions = model.has_position_table() ? model.max_positions * model.hidden : 0;
  sum.embedding_norm = model.embedding_norm ? norm_size(model, model.hidden) : 0;
  sum.final_norm = norm_size(model, model.hidden);
  sum.head = (model.tied_embeddings ? 0 : sum.embedding) + (model.head_bias ? model.vocab : 0);
  return sum;
}

Parameters parameters(const Model& model) {
  Parameters sum = end_parameters(model);
  for (int layer = 0; layer < model.layers; ++layer) add_block(sum, model, model.parts_in(layer));
  if (model.mtp > 0) sum.multi_token = model.module_copies() * multi_token_size(model);
  return sum;
}

}  // namespace spec
