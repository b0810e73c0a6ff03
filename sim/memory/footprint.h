// sim/memory/footprint.h -- what every stage needs at its fullest moment.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/plan/context.h"
#include "core/plan/plan.h"
#include "core/spec/job.h"
#include "sim/memory/ledger.h"

namespace sim {

struct Footprint {
  MemoryPeak peak;                 // of what the framework allocates
  std::int64_t communicators = 0;  // beside it: NCCL's buffers
  std::int64_t reserved = 0;       // beside it: CUDA context, what the allocator cannot use
  std::int64_t context = 0;        // of `reserved`, what is no allocator's: CUDA context, library handles
  std::int64_t held_back = 0;      // beside them: what the allocator gives away last; 0 where nothing is left for it
  /// Live tensors; what the caching allocator holds for them; what the process takes of the device (nvidia-smi). NCCL
  /// and the CUDA context are no allocator's.
  std::int64_t allocated() const { return peak.total(); }
  std::int64_t held_by_allocator() const { return peak.total() + reserved - context + held_back; }
  std::int64_t of_process() const { return total() + held_back; }
  /// What has to fit.
  std::int64_t total() const { return peak.total() + communicators + reserved; }
};

/// What a GPU offers to the ranks of a role; of several kinds the smallest.
std::int64_t capacity_of(const plan::Plan&, const plan::Role&, const spec::Cluster&);

/// Of the role with the least room left: the earliest of equals.
struct Fullest {
  std::size_t role = 0;
  std::int64_t peak = 0, capacity = 0;
  bool fits() const { return peak <= capacity; }
};
Fullest fullest(const plan::Plan&, const std::vector<Footprint>&, const spec::Cluster&);

/// Bytes of the two gathered units that a segment has allocated at once on the gathers' own stream.
std::int64_t gather_pool(const plan::Plan&, const plan::Segment&);

/// What counts of held bytes where most is reserved: more of what moves, of which the allocator cannot use a part, and
/// nothing of what gathers hold where they have a pool, which is there all the time.
ByteWeights weights_of(const spec::Framework&);

/// What a peak of allocated memory comes to with all that lies beside it. Of the plan only its axes and degrees are
/// read. `gathered`: of two neighbouring units of zero 3, where gathers have a pool of their own.
Footprint footprint(const MemoryPeak&, const plan::Plan&, const spec::Job&, std::int64_t gathered);

/// What a rank's shards of gradients, this many bytes, take beside the whole sums that they replace: PyTorch makes them
/// on a stream of their own, whose pool has no part in the other's (torch/distributed/fsdp/_fully_shard/
/// _fsdp_collectives.py, foreach_reduce). No live tensors, but reserved.
std::int64_t shards_beside_sums(const plan::Context&, std::int64_t shards);

/// Of each role, in the plan's order.
std::vector<Footprint> footprints(const plan::Plan&, const spec::Job&);

}  // namespace sim
