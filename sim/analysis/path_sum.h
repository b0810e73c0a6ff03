// sim/analysis/path_sum.h -- the step's length as a plain sum of prices, where it is one.
//
// The critical path is a chain of operators, each beginning when the one before it ends. While it stays the critical
// path, a price that grows by x makes the step longer by x for each time that its work stands on the path (the envelope
// theorem; where two paths are equally long, for the one that was walked). So the derivative of the step by an input is
//   sum over works of count on the path * d price / d input
// and takes no further run. Exact only where no operator on the path was stretched by what ran beside it: then its time
// depends on others' prices, too. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/plan/plan.h"
#include "core/spec/job.h"
#include "sim/analysis/critical_path.h"
#include "sim/engine/engine.h"

namespace sim {

/// How often each of the plan's works stands on the path. Nothing where something was stretched or waited for without
/// being told, where durations are not the prices alone (mixed clusters, slow ranks and links, drawn times, collectives
/// on the path that wait for the latest of their ranks), and in steps that follow one another without a barrier.
std::optional<std::vector<std::int64_t>> path_counts(const spec::Job&, const EngineInput&,
                                                     const std::vector<PathPart>& path,
                                                     const std::vector<double>& prices);

}  // namespace sim
