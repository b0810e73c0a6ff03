// sim/search/chunk_cost.h -- time and memory of one chunk's passes in the steady state: rehearsed once for all strategies
// whose layers are cut alike, and carried on from a few layers to many where all layers are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/plan/context.h"
#include "core/plan/shares.h"
#include "sim/prices.h"

namespace sim {

/// Bytes over those held before a pass.
struct Rise {
  std::int64_t moving = 0;         // activations, logits, workspace: of these the allocator cannot use a part
  std::int64_t communication = 0;  // gathered units, buckets
  std::int64_t other = 0;          // gradients, parameters
  std::int64_t total() const { return moving + communication + other; }
};

struct PassCost {
  double time = 0;  // seconds, the host's issue and communication inside the chunk included
  double tp = 0, cp = 0, ep = 0;  // of them, those in which kernels wait for communication on that axis
  Rise highest;     // at the pass's fullest moment
  Rise net;         // behind it
};

struct ChunkCost {
  PassCost forward, backward, weights;  // backward: of the inputs alone where weight gradients run apart
  double first_forward = 0;             // of a step: weights are cast to narrow formats
  std::int64_t gather_pool = 0;         // zero 3: bytes of two neighbouring units
};

/// Any number of threads may ask, each with its own prices.
class ChunkCosts {
 public:
  /// Of chunks[index] of `stage`.
  ChunkCost of(const plan::Context&, int stage, const std::vector<plan::Chunk>& chunks, int index, PriceList&);
  /// Seconds that a stage's first forwards and last backwards take beyond its others: parameters gathered in front of
  /// those, gradients reduced behind these.
  double exchanges(const plan::Context&, int stage, const std::vector<plan::Chunk>& chunks, PriceList&);

 private:
  using Key = std::vector<std::int64_t>;
  struct Group {  // of strategies that cut layers alike
    std::mutex guard;
    std::map<Key, ChunkCost> known;
  };
  Group& group_of(const plan::Context&);
  static ChunkCost known(Group&, const plan::Context&, int stage, std::vector<plan::Chunk> chunks, int index, PriceList&);

  std::mutex guard_;
  std::map<Key, std::unique_ptr<Group>> groups_;
};

/// Whether each of the chunk's layers does the same.
bool uniform(const plan::Context&, const plan::Chunk&);

}  // namespace sim
