// core/config/huggingface_indexer.cpp -- the indexer that chooses the keys of attention (DeepSeek-V3.2, GLM-5).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>

#include "core/config/huggingface_readers.h"
#include "core/config/model_reader.h"

namespace config::huggingface {

namespace {

/// Layers of kind "full" have an indexer, "shared" ones use the choice of the one before: the first
/// index_skip_topk_offset, then every index_topk_freq-th, whether listed or counted.
void read_shared_indices(spec::Indexer& indexer, const Model& model, Config& config) {
  indexer.every = static_cast<int>(config.whole("index_topk_freq", 1, spec::kMostLayers));
  if (indexer.every < 1) indexer.every = 1;
  indexer.first = std::max(1, static_cast<int>(config.whole("index_skip_topk_offset", 2, spec::kMostLayers)));
  if (!indexer.shares()) indexer.first = 1;
  const Value* listed = config.map.child("indexer_types");
  if (listed == nullptr || listed->kind != Value::Kind::list) return;
  bool same = static_cast<int>(listed->items.size()) == model.layers;
  for (int layer = 0; same && layer < model.layers; ++layer) {
    same = (listed->items[static_cast<std::size_t>(layer)].text == "full") == indexer.in_layer(layer);
  }
  if (same) return;
  config.map.fault("indexer_types", "is not what index_topk_freq and index_skip_topk_offset count",
                   "write the first layers and every n-th behind them as full, and both numbers");
}

}  // namespace

void read_indexer(Model& model, Config& config, int heads) {
  spec::Indexer indexer{.heads = heads, .head_dim = 128, .top_k = 2048};
  config.map.read("index_n_heads", indexer.heads, 1, spec::kMostHeads);
  config.map.read("index_head_dim", indexer.head_dim, 1, spec::kMostHeadDim);
  config.map.read("index_topk", indexer.top_k, 1, spec::kMostPositions);
  read_shared_indices(indexer, model, config);
  model.indexer = indexer;
  if (model.mla->q_lora_rank == 0) {
    config.map.fault("q_lora_rank", "is 0, and the indexer's queries are made of the compressed ones",
                     "write the rank");
  }
}

}  // namespace config::huggingface
