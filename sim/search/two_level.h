// sim/search/two_level.h -- time and memory of one strategy on two levels: passes of chunks as they were rehearsed once
// (chunk_cost.h), and the pipeline that they make (pipeline_walk.h). Agrees with the operator level (sim/predict.h) within
// 0.5 %; docs/search.md has the distribution. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/plan/context.h"
#include "core/plan/shares.h"
#include "core/spec/job.h"
#include "sim/prices.h"
#include "sim/search/chunk_cost.h"
#include "sim/search/pipeline_shape.h"
#include "sim/search/step_end.h"

namespace sim {

/// What strategies of one model and cluster share. Any number of threads may use it.
struct Books {
  ShapeBook shapes;
  ChunkCosts chunks;
};

/// Whether the two levels can tell such a job: passes one at a time, all ranks alike, nothing offloaded or stored.
bool has_two_levels(const spec::Job&);

/// One strategy. REQUIRES: a resolved, sound job that outlives it; has_two_levels(job).
class Draft {
 public:
  Draft(const spec::Job&, Books&, PriceList&);
  Draft(const Draft&) = delete;  // the context looks at the job, ends look at stages

  /// Bytes of the fullest stage, with all that lies beside what the framework allocates.
  std::int64_t peak_bytes();
  /// Seconds that the step takes at the least: no step_time() is below. A tenth of its cost.
  double least_time();
  double step_time();

 private:
  struct StageCost {
    int kind = 0;  // stages of one kind have the same chunks, hence the same ends
    std::vector<int> chunks;  // by chunk: which of costs_
  };
  int cost_of(int stage, int chunk);
  const StageEnds& ends_of(int stage);
  std::int64_t peak_of(int stage);
  PassTime pass_time(const PassCost&) const;
  ChunkTimes times_of(int stage, int chunk);
  bool rehearses_exchanges() const;
  double host_start() const;

  const spec::Job& job_;
  const plan::Context c_;
  Books& books_;
  PriceList& prices_;
  std::shared_ptr<const PipelineShape> shape_;
  std::vector<std::vector<plan::Chunk>> chunks_;  // [stage][chunk]
  std::vector<StageCost> stages_;
  std::vector<ChunkCost> costs_;
  std::vector<int> kind_shown_;              // of each kind of stage, one that is
  std::vector<std::unique_ptr<StageEnds>> ends_;  // of each kind
  double transfer_ = 0;
  bool blocking_ = false;
};

}  // namespace sim
