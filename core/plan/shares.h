// core/plan/shares.h -- how many parameters one rank holds, by layer, chunk end and stage.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/context.h"

namespace plan {

/// Parameters of one layer on one tensor-parallel rank: matrices are cut, norms and biases behind a reduction are not.
std::int64_t layer_parameters(const Context&);
/// Embedding table (and positions, norm) on one rank.
std::int64_t embedding_parameters(const Context&);
/// Output head and final norm on one rank of the last stage. With tied embeddings and one stage the head costs nothing.
std::int64_t head_parameters(const Context&);

/// One model chunk of one stage.
struct Chunk {
  int first_layer = 0, layers = 0;
  int index_in_stage = 0;            // layers of the stage before this chunk
  bool first = false, last = false;  // of the model: holds the embedding, the head
};
/// chunks[stage][chunk]
std::vector<std::vector<Chunk>> chunks_of(const Context&);
std::int64_t chunk_parameters(const Context&, const Chunk&);

/// Bytes that the optimizer keeps for one parameter: Adam's two moments in fp32 (momentum alone for SGD) and the fp32
/// master weight when the job has one.
std::int64_t optimizer_bytes(const Context&);
/// Parameters whose optimizer state a rank holds: all of them, or its share under ZeRO-1.
std::int64_t optimizer_share(const Context&, std::int64_t parameters);

}  // namespace plan
