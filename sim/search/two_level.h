// sim/search/two_level.h -- time and memory of one strategy on two levels: passes of chunks as they were rehearsed once
// (chunk_cost.h), and the pipeline that they make (pipeline_walk.h). docs/search.md says how far it is
// from the operator level (sim/predict.h). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/plan/context.h"
#include "core/plan/shares.h"
#include "core/spec/job.h"
#include "sim/pricing/prices.h"
#include "sim/search/chunk_cost.h"
#include "sim/search/pipeline_shape.h"
#include "sim/search/step_end.h"

namespace sim {

/// What strategies of one model and cluster share. Any number of threads may use it.
struct Books {
  ShapeBook shapes;
  ChunkBooks chunks;
};

/// Whether the two levels can tell such a job at all: passes one at a time, all ranks alike, nothing offloaded or
/// stored.
bool has_two_levels(const spec::Job&);
/// One strategy. REQUIRES: a resolved, sound job that outlives it; has_two_levels(job).
class Draft {
 public:
  Draft(const spec::Job&, Books&, PriceList&);
  Draft(const Draft&) = delete;  // the context looks at the job

  /// Bytes of the fullest stage, with all that lies beside what the framework allocates; nothing when it is more than
  /// `capacity`, which is known the sooner the larger it is.
  std::optional<std::int64_t> peak_within(std::int64_t capacity);
  /// Seconds that the step takes at the least: no step_time() is below.
  double least_time();
  /// Whether step_time() and peak_within() are those of the operator level, and not only bounds below them. Not where
  /// gradients that are scattered in each microbatch (zero 2) may pile up, nor their sums over replicas (zero 3 inside
  /// groups), and not where several stages gather units of parameters, which meet microbatches under way in more ways
  /// than two levels know. And not where hosts are slower than their kernels for a while, where some stages are
  /// nearer to one another than others, or of steps so small that the operator level takes hardly longer.
  bool agrees();
  double step_time();

 private:
  struct StageKind {  // stages that have the same chunks
    int shown = 0;    // one of them
    std::vector<int> chunk_kinds;
    std::array<std::int64_t, plan::kCategories> resident{};
    std::int64_t sums = 0;    // of whole gradients, beside all passes
    std::int64_t shards = 0;  // that replace them, in a pool of their own
    std::int64_t fresh = 0;   // of gradients that no pass finds
    std::unique_ptr<StageEnds> ends;
  };
  struct ChunkKind {           // chunks that do the same
    int stage = 0, index = 0;  // one of them
    std::optional<ChunkMemory> least_memory, memory;
    std::optional<ChunkCost> least_cost, cost;
  };

  void sort_stages();
  bool alike(int stage, int chunk, int other_stage, int other_chunk) const;
  bool same_stage(int stage, int other) const;
  int chunk_kind(int stage, int chunk);
  std::int64_t footprint_of(const StageKind&, const Rise&, std::int64_t pool) const;
  std::int64_t peak_of(int stage, bool least);
  const ChunkMemory& memory_of(int chunk_kind, bool least);
  const ChunkCost& cost_of(int chunk_kind, bool least);
  const StageEnds& ends_of(StageKind&);
  bool is_small() const;
  bool waits_for_hosts();
  bool rehearses_exchanges() const;
  bool meets_transfers(plan::Axis) const;
  ChunkTimes times_of(const StageKind&, int chunk);
  Exchange exchange_of(const plan::Plan&, const plan::Operator&, double share);
  template <class Write>
  std::vector<Exchange> exchanges(Write);
  std::vector<Exchange> gathers_of(const plan::Chunk&, bool bucketed);
  std::vector<Exchange> reductions_of(const plan::Chunk&, bool bucketed);
  void wait_for_the_latest(StageKind&, std::vector<ChunkTimes>&);

  const spec::Job& job_;
  const plan::Context c_, least_c_;  // the second: zero 2 and 3 taken away
  PriceList& prices_;
  ChunkBook &book_, &least_book_;
  const bool blocking_;    // exchanges between stages
  const bool host_waits_;  // for inputs
  std::shared_ptr<const PipelineShape> shape_;
  std::vector<std::vector<plan::Chunk>> chunks_;  // [stage][chunk]
  std::vector<int> kind_of_;                      // stage
  std::vector<StageKind> kinds_;
  std::vector<ChunkKind> chunk_kinds_;
  plan::Plan cut_;                                          // its degrees, for footprint()
  double transfer_ = 0, least_transfer_ = 0, restore_ = 0;  // between stages: the slowest hop, the fastest
};

}  // namespace sim
