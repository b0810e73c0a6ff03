// core/spec/parameters.h -- how many parameters a model has, by part. Published counts are its tests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/spec/model.h"

namespace spec {

/// Parameters of one block (layer) of attention and a dense feed-forward. Weights of matmuls apart from small vectors,
/// for each is cut differently.
struct BlockParameters {
  std::int64_t qkv = 0, proj = 0, up = 0, down = 0;  // matmul weights
  std::int64_t qkv_bias = 0, proj_bias = 0, up_bias = 0, down_bias = 0;
  std::int64_t norms = 0;  // all norms of the block but wide_qk_norm
  std::int64_t matmuls() const { return qkv + proj + up + down; }
  std::int64_t total() const { return matmuls() + qkv_bias + proj_bias + up_bias + down_bias + norms; }
};

/// Parameters of the whole model, experts and latent attention included.
struct Parameters {
  std::int64_t embedding = 0, positions = 0, embedding_norm = 0;
  std::int64_t attention = 0, indexer = 0, recurrent = 0, feed_forward = 0, router = 0, latent = 0, experts = 0,
               shared_experts = 0, norms = 0;  // all layers
  std::int64_t final_norm = 0, head = 0;       // head is 0 when tied to the embedding
  std::int64_t multi_token = 0;
  std::int64_t total() const {
    return embedding + positions + embedding_norm + attention + indexer + recurrent + feed_forward + router + latent +
           experts + shared_experts + norms + final_norm + head + multi_token;
  }
};

/// Matmul weights of one layer's latent attention, output projection included. REQUIRES: mla.
std::int64_t latent_attention_weights(const Model&);
/// Of one indexer: matmul weights, and with the norm of its keys all it has. REQUIRES: indexer, mla.
std::int64_t indexer_weights(const Model&);
std::int64_t indexer_parameters(const Model&);
/// Scales of a norm over all heads of queries and keys, whose widths together are `width`: cut with the heads. 0: other
/// norms of queries and keys.
std::int64_t wide_qk_norm(const Model&, std::int64_t width);
/// A router's, with its biases and the shared experts' gate. REQUIRES: moe.
std::int64_t router_parameters(const Model&);
/// The two projections around a layer's experts (Moe::latent), with their biases. REQUIRES: moe.
std::int64_t latent_projection_parameters(const Model&);
/// Matmul weights of one recurrent layer. REQUIRES: recurrent.
std::int64_t recurrent_weights(const Model&);
/// What such a layer has for each tap, channel and head beside them: convolution, decays, steps, skips.
std::int64_t recurrent_vectors(const Model&);
/// The norm behind its gate: over the width (mamba2), or over one head (gated_delta).
std::int64_t recurrent_norm(const Model&);
/// All norms of a layer between its branches, and those of the heads of queries and keys; wide_qk_norm and
/// recurrent_norm left out.
std::int64_t layer_norms(const Model&, LayerParts);
/// One norm over the model's width.
std::int64_t norm_parameters(const Model&);
/// REQUIRES: no mla.
BlockParameters block_parameters(const Model&);
/// Those outside of blocks alone: embedding, positions, norms at both ends, head.
Parameters end_parameters(const Model&);
/// The whole model's parameters. Understands moe and mla; multi-token-prediction layers are counted when mtp > 0.
Parameters parameters(const Model&);

}  // namespace spec
