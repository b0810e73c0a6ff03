// core/plan/shares.h -- how many parameters one rank holds, by layer, chunk end and stage.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/context.h"

namespace plan {

/// Parameters that one rank trains, by whose copies they are: the dense ones of every rank along Axis::dp, the experts
/// of those along Axis::expert_dp; and the bytes of the frozen weights beside low-rank adapters, in their own format.
struct Held {
  std::int64_t dense = 0, experts = 0;
  std::int64_t narrow_dense = 0, narrow_experts = 0;  // of these, those that exist in fp8 alone
  std::int64_t frozen_dense = 0, frozen_experts = 0;  // bytes
  std::int64_t total() const { return dense + experts; }
  std::int64_t frozen() const { return frozen_dense + frozen_experts; }
  Held& operator+=(const Held& other) {
    dense += other.dense;
    experts += other.experts;
    narrow_dense += other.narrow_dense;
    narrow_experts += other.narrow_experts;
    frozen_dense += other.frozen_dense;
    frozen_experts += other.frozen_experts;
    return *this;
  }
  bool operator==(const Held&) const = default;
};

/// NCCL's reduce-scatter and all-gather want equal shares: as many elements as there are, up to a multiple of `ranks`.
constexpr std::int64_t padded(std::int64_t count, int ranks) { return (count + ranks - 1) / ranks * ranks; }

/// One layer (of the model, from 0) on one tensor-parallel rank: matrices are cut, norms and biases behind a reduction
/// are not.
Held layer_parameters(const Context&, int layer);
/// Trained: embedding table (and positions, norm) on one rank.
std::int64_t embedding_parameters(const Context&);
/// Trained: output head and final norm on one rank of the last stage. With tied embeddings and one stage the head costs
/// nothing.
std::int64_t head_parameters(const Context&);

/// The embedding of one rank as what it trains and keeps frozen; the same of `parameters` at an end of the model.
Held embedding_held(const Context&);
Held end_held(const Context&, std::int64_t parameters);
/// Rows of the embedding and of the head that one rank of each stage holds where the vocabulary is cut over the stages
/// (then neither function above counts them); 0 otherwise.
std::int64_t vocabulary_share(const Context&);

/// What the last stage holds behind its layers: the head and the multi-token-prediction modules.
Held last_parameters(const Context&);

/// One model chunk of one stage.
struct Chunk {
  int first_layer = 0, layers = 0;
  int index_in_stage = 0;            // layers of the stage before this chunk
  bool first = false, last = false;  // of the model: holds the embedding, the head
  bool shares_vocabulary = false;    // holds its stage's vocabulary_share()
};
/// chunks[stage][chunk]
std::vector<std::vector<Chunk>> chunks_of(const Context&);
/// Its layers, those of the modules of multi-token prediction counted, and what number the `block`-th of them has
/// (Model::parts_in).
int blocks_of(const Context&, const Chunk&);
/// The first of them: those with weights of their own. Modules that are one, run again, are there once.
int blocks_held(const Context&, const Chunk&);
int layer_of_block(const Context&, const Chunk&, int block);
/// What it consists of: a module's own attention may choose its keys where the layer of that number does not.
spec::LayerParts parts_of_block(const Context&, const Chunk&, int block);
/// Of its layers and of the ends of the model that it holds.
Held chunk_parameters(const Context&, const Chunk&);
/// Of all chunks of a stage.
Held stage_parameters(const Context&, const std::vector<Chunk>&);

/// Bytes of the narrow copies of its weights that are kept for the whole step, those that replace the weights among
/// them.
std::int64_t narrow_copies(const Context&, const Chunk&);

/// Bytes of one moment of one parameter, but under adamw8bit.
std::int64_t moment_bytes(const Context&);
/// Bytes that the optimizer keeps for one parameter: Adam's two moments in Training::moments_dtype (momentum alone for
/// SGD and for Muon's matrices, muon.h; a byte each in 8 bits) and the fp32 master weight
/// when the job has one.
std::int64_t optimizer_bytes(const Context&);
/// 8-bit moments that share a scale: bitsandbytes and torchao, 2025.
inline constexpr std::int64_t kMomentBlock = 256;
/// Bytes of the fp32 scales of 8-bit moments, two for each block.
std::int64_t optimizer_scales(const Context&, std::int64_t parameters);
/// Parameters whose optimizer state a rank holds: all of them, or its share under ZeRO-1.
Held optimizer_share(const Context&, const Held& parameters);
/// Bytes of frozen weights that a rank keeps: all of them, or its share under ZeRO-3.
std::int64_t frozen_share(const Context&, const Held& parameters);

}  // namespace plan
