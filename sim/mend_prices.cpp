// SPDX-License-Identifier: Apache-2.0
#include "sim/mend_prices.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/fault.h"
#include "core/base/parallel.h"
#include "sim/predict.h"

namespace sim {
namespace {

/// Nothing: its step is longer than what can be simulated. Where ranks that are alike take the same time, as all do
/// unless they are slow or their kernels are drawn, one stands for them.
std::optional<double> step_time_s(spec::Job job) {
  if (job.simulation.jitter == 0) job.simulation.unfold = false;
  try {
    return outline(job).step_time_s;
  } catch (const base::InputError&) {
    return std::nullopt;
  }
}

}  // namespace

void price_mends(const spec::Job& job, result::Prediction& p, const MayTell& may) {
  if (p.fits) return;
  const std::vector<FittingChange> changes = fitting_changes(job, may);
  std::vector<std::optional<double>> times(changes.size());
  base::parallel_for(changes.size(), [&](std::size_t i) { times[i] = step_time_s(changes[i].job); });
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (times[i]) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return *times[i]; });
  p.mends.clear();
  p.mend_step_times_s.clear();
  for (const std::size_t i : order) {
    p.mends.push_back(changes[i].flags);
    p.mend_step_times_s.push_back(*times[i]);
  }
}

}  // namespace sim
