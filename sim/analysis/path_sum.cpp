// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/path_sum.h"

#include "sim/pricing/flatten.h"

namespace sim {
namespace {

bool durations_are_prices(const spec::Job& job, const EngineInput& in) {
  const spec::Simulation& s = job.simulation;
  return !job.cluster.mixed() && !s.any() && s.slow_ranks.empty() && in.sampled_jitter == 0 && !in.carrier &&
         !in.plan->rolling;
}

}  // namespace

std::optional<std::vector<std::int64_t>> path_counts(const spec::Job& job, const EngineInput& in,
                                                     const std::vector<PathPart>& path,
                                                     const std::vector<double>& prices) {
  if (!durations_are_prices(job, in)) return {};
  std::vector<std::int64_t> counts(in.plan->works.size());
  for (const PathPart& part : path) {
    if (part.piece.cause == PathPiece::Cause::waiting) return {};
    if (part.piece.cause == PathPiece::Cause::host) continue;
    const auto work = static_cast<std::size_t>(part.piece.work);
    if (part.time != part.count * to_ticks(base::Seconds(prices[work]))) return {};
    counts[work] += part.count;
  }
  return counts;
}

}  // namespace sim
