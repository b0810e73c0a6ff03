// core/plan/sparse_attention.h -- DeepSeek Sparse Attention (DeepSeek-V3.2, arXiv 2512.02556, section 2.1): an indexer
// scores all keys before a query with narrow heads of its own, the best are chosen, and attention reads the latent
// vectors of these alone, in the absorbed form (mla.h). The indexer is whole on every tensor-parallel rank and sees all
// tokens, as in Megatron Core's DSAIndexer (megatron/core/transformer/experimental_attention_variant/dsa.py, 2026).
// Context-parallel ranks gather latent vectors and index keys of all tokens.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/tensor_parallel.h"

namespace plan {

/// REQUIRES of all below: Model::indexer, Model::mla.
class SparseAttention {
 public:
  /// `indexes`: the layer chooses keys; others have those of a layer before.
  SparseAttention(const Context&, SegmentBuilder&, bool indexes);
  void forward();
  void backward();

 private:
  struct Stretch {  // of queries that follow one another, and the keys up to the last of them
    std::int64_t queries = 0, keys = 0;
    bool of_documents = false;  // which begin and end anywhere: a query sees what one in a document does on average
  };
  std::vector<Stretch> stretches() const;
  void attend(bool backward);
  IndexScores scores_of(const Stretch&, std::int64_t chosen, int heads, int head_dim, bool backward) const;
  void exchange(CollectiveKind, std::int64_t width, std::string_view name);  // among context-parallel ranks
  void choose();
  void learn();  // scores made again for their loss, and back through the indexer
  void score(std::int64_t chosen, int heads, int head_dim, bool backward, std::string_view name);
  void turn(bool backward);
  std::int64_t score_bytes() const;
  std::int64_t chosen() const { return std::min<std::int64_t>(indexer_.top_k, c_.sequence); }

  const Context& c_;
  SegmentBuilder& out_;
  const spec::Indexer& indexer_;
  bool indexes_;
};

std::vector<Placed> indexer_linears(const Context&);
/// Numbers of a token that attention reads as a key, and their head's part as a value.
int latent_key_width(const Context&);
/// What a layer's forward keeps beside attention's own, in bytes: the choice, and what the indexer's loss reads, under
/// sequence parallel the gathered inputs as well.
std::int64_t indexer_activations(const Context&);
/// The choice alone, where layers behind need it: it outlives a layer that is computed again.
std::int64_t shared_choice(const Context&);

}  // namespace plan
