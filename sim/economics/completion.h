// sim/economics/completion.h -- when a run ends: many simulated runs, first with the step as predicted, for the mean
// and what becomes of the time; then each with a step time drawn from the prediction's 80 % interval, for the chances.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/result/prediction.h"
#include "core/result/purchase.h"
#include "sim/economics/failure_simulation.h"

namespace sim {

struct Runs {
  int count = 1;
  std::uint64_t seed = 1;
  unsigned threads = 0;  // 0: all cores
};

/// A factor of the step time: log-normal on either side, one in ten below step_time_low_s and one above
/// step_time_high_s. `deviations`: a standard normal number.
double step_factor(const result::Prediction&, double deviations);

/// Mean time of a run at the predicted pace: of the closed form where it is exact, else of the simulated ones.
base::Seconds mean_time(const RunModel&, base::Seconds work, const Runs&);

struct Completion {
  base::Seconds mean;         // at the predicted pace, as mean_time() has it
  base::Seconds low, high;    // one run in ten is faster, one slower
  std::vector<double> times;  // of those at drawn paces, sorted
  double chance_by(base::Seconds deadline) const;
};

/// Fills in what `goodput` says of the runs.
Completion completion(const RunModel&, base::Seconds work, const result::Prediction&, const Runs&, result::Goodput&);

/// As many spare nodes as make `nodes` of them and the spares cheapest, paid by the time.
int best_spares(RunModel, int nodes, base::Seconds work, const Runs&);

}  // namespace sim
