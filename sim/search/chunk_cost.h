// sim/search/chunk_cost.h -- time and memory of one chunk's passes in the steady state: worked out once for all
// strategies whose layers are cut alike, and carried on from a few layers to many where all layers are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/plan/context.h"
#include "core/plan/shares.h"
#include "sim/memory/ledger.h"
#include "sim/pricing/prices.h"

namespace sim {

/// Bytes over those held before a pass.
struct Rise {
  std::int64_t moving = 0;         // activations, logits, workspace: of these the allocator cannot use a part
  std::int64_t communication = 0;  // gathered units, buckets
  std::int64_t other = 0;          // gradients, parameters
  std::int64_t total() const { return moving + communication + other; }
  /// What counts of it where most is reserved (weights_of).
  double weight(const ByteWeights& of) const {
    return of[static_cast<int>(plan::Category::activations)] * static_cast<double>(moving) +
           of[static_cast<int>(plan::Category::communication)] * static_cast<double>(communication) +
           static_cast<double>(other);
  }
};

struct PassMemory {
  Rise highest;   // at the pass's fullest moment
  Rise heaviest;  // where it weighs most
  Rise net;       // behind it
};
struct ChunkMemory {
  PassMemory forward, backward, weights;  // backward: of the inputs alone where weight gradients run apart
  std::int64_t gather_pool = 0;           // zero 3: bytes of two neighbouring units
  std::int64_t kept = 0;                  // and of those that stay from the first forward to the last backward
};

struct PassCost {
  double time = 0;                // seconds, the host's issue and communication inside the chunk included
  double gap = 0;                 // of them, no kernel runs before the first
  double tp = 0, cp = 0, ep = 0;  // of them, those in which kernels wait for communication on that axis
  double host = 0;                // of them, those in which kernels wait for what the host has not issued
  double device = 0;              // seconds by a host that takes no time
  double issue = 0;               // seconds of the host's work
  double operators = 0;
  double squares = 0;  // of its kernels' times, in seconds^2
};
struct ChunkCost {
  PassCost forward, backward, weights;
  double first_forward = 0;  // of a step: weights are cast to narrow formats
};

/// How many times as long a pass takes beside communication of another axis, and that communication beside the pass.
struct Beside {
  double pass = 1, other = 1;
};
/// What a pass's own communication makes of company over the same link.
struct SharedLink {
  double load = 0;   // of its own, beside company of 1
  double waits = 0;  // that the pass takes longer for each, in times of its own beside company over other links
};
/// A part of a pass in which the same links are held.
struct PassSection {
  double end = 0;             // seconds since the pass began, alone
  Beside exchange, transfer;  // kernels beside a collective of the data-parallel axis; beside what stages send
  SharedLink exchange_link = {}, transfer_link = {};
};
/// Sections of a chunk's passes, one behind the other; none: nothing slows it.
struct ChunkSections {
  std::vector<PassSection> forward, backward, weights;
};

/// A chunk as one of a stage's.
struct ChunkOfStage {
  int stage = 0;
  const std::vector<plan::Chunk>& chunks;
  int index = 0;
  const plan::Chunk& chunk() const { return chunks[static_cast<std::size_t>(index)]; }
};

/// What was worked out before, by key. Any number of threads may use it.
template <class T>
class Kept {
 public:
  using Key = std::vector<std::int64_t>;
  template <class Make>
  T of(Key key, Make make) {
    {
      const std::lock_guard lock(guard_);
      if (const auto known = known_.find(key); known != known_.end()) return known->second;
    }
    const T made = make();  // unlocked: two threads may make the same
    const std::lock_guard lock(guard_);
    return known_.try_emplace(std::move(key), made).first->second;
  }

 private:
  std::mutex guard_;
  std::map<Key, T> known_;
};

/// What is known of the chunks of strategies that cut layers alike. Any number of threads may ask, each with its own
/// prices. The context of each question is of such a strategy.
class ChunkBook {
 public:
  explicit ChunkBook(Kept<ChunkMemory>& memory) : memory_(memory) {}
  ChunkMemory memory(const plan::Context&, const ChunkOfStage&);
  ChunkCost cost(const plan::Context&, const ChunkOfStage&, PriceList&);
  ChunkSections sections(const plan::Context&, const ChunkOfStage&, PriceList&);
  /// Seconds that a stage's first forwards and last backwards take beyond its others: parameters gathered in front of
  /// those, gradients reduced behind these.
  double exchanges(const plan::Context&, int stage, const std::vector<plan::Chunk>& chunks, PriceList&);

 private:
  Kept<ChunkMemory>& memory_;  // also of strategies that differ in time alone
  Kept<ChunkCost> cost_;
  Kept<ChunkSections> sections_;
};

/// A book for each way to cut layers.
class ChunkBooks {
 public:
  ChunkBook& of(const plan::Context&);

 private:
  using Key = std::vector<std::int64_t>;
  std::mutex guard_;
  std::map<Key, std::unique_ptr<Kept<ChunkMemory>>> memories_;
  std::map<Key, std::unique_ptr<ChunkBook>> books_;
};

/// Whether each of the chunk's layers does the same.
bool uniform(const plan::Context&, const plan::Chunk&);

/// The same strategy with whole parameters and gradients on every rank: its passes have no kernel that those of zero 2
/// and 3 lack, and hold nothing that those do not.
plan::Context unsharded(const plan::Context&);

}  // namespace sim
