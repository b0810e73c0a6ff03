// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/completion.h"

#include <algorithm>
#include <cmath>

#include "core/base/parallel.h"
#include "sim/analysis/interval.h"
#include "sim/economics/run_model.h"

namespace sim {
namespace {

/// Run i draws from stream 2 i, its step time from stream 2 i + 1: the same luck for every candidate.
std::vector<RunOutcome> outcomes(const RunModel& model, base::Seconds work, const Runs& runs) {
  std::vector<RunOutcome> out(static_cast<std::size_t>(runs.count));
  base::parallel_for(
      out.size(),
      [&](std::size_t i) {
        Random random(runs.seed, 2 * i);
        out[i] = simulate_run(model, work, random);
      },
      runs.threads);
  return out;
}

std::vector<double> times_at_drawn_pace(const RunModel& model, base::Seconds work, const result::Prediction& step,
                                        const Runs& runs) {
  std::vector<double> out(static_cast<std::size_t>(runs.count));
  base::parallel_for(
      out.size(),
      [&](std::size_t i) {
        Random luck(runs.seed, 2 * i), pace(runs.seed, 2 * i + 1);
        const double factor = step_factor(step, pace.normal());
        out[i] = simulate_run(with_steps(model, factor), work * factor, luck).time.si();
      },
      runs.threads);
  std::sort(out.begin(), out.end());
  return out;
}

/// Between the two nearest ranks.
double quantile_of_sorted(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

double step_factor(const result::Prediction& p, double deviations) {
  const double end = deviations < 0 ? p.step_time_low_s : p.step_time_high_s;
  if (!(end > 0)) return 1;
  return std::exp(std::abs(std::log(end / p.step_time_s)) * deviations / kTenth);
}

base::Seconds mean_time(const RunModel& model, base::Seconds work, const Runs& runs) {
  if (const auto rhythm = closed_form(model)) return expected_run(*rhythm, work);
  base::Seconds sum;
  for (const RunOutcome& run : outcomes(model, work, runs)) sum += run.time;
  return sum / static_cast<double>(runs.count);
}

double Completion::chance_by(base::Seconds deadline) const {
  const auto in_time = std::upper_bound(times.begin(), times.end(), deadline.si()) - times.begin();
  return static_cast<double>(in_time) / static_cast<double>(times.size());
}

Completion completion(const RunModel& model, base::Seconds work, const result::Prediction& step, const Runs& runs,
                      result::Goodput& goodput) {
  const auto count = static_cast<double>(runs.count);
  RunOutcome sum;
  double failures = 0, squares = 0;
  const std::vector<RunOutcome> all = outcomes(model, work, runs);
  for (const RunOutcome& run : all) {
    sum.time += run.time;
    sum.down += run.down;
    sum.lost += run.lost;
    sum.checkpoints += run.checkpoints;
    sum.slow += run.slow;
    failures += static_cast<double>(run.failures);
  }
  const base::Seconds mean = sum.time / count;
  for (const RunOutcome& run : all) squares += std::pow(run.time.si() - mean.si(), 2);
  goodput.simulated = work / mean;
  goodput.error = runs.count > 1 ? goodput.simulated * std::sqrt(squares / (count - 1) / count) / mean.si() : 0;
  goodput.failures = failures / count;
  goodput.down = sum.down / sum.time;
  goodput.lost = sum.lost / sum.time;
  goodput.checkpoints = sum.checkpoints / sum.time;
  goodput.slow = sum.slow / sum.time;
  if (const auto rhythm = closed_form(model)) goodput.closed_form = work / expected_run(*rhythm, work);
  goodput.goodput = goodput.closed_form.value_or(goodput.simulated);
  Completion out;
  out.mean = base::s(work.si() / goodput.goodput);
  out.times = times_at_drawn_pace(model, work, step, runs);
  out.low = base::s(quantile_of_sorted(out.times, 0.1));
  out.high = base::s(quantile_of_sorted(out.times, 0.9));
  return out;
}

int best_spares(RunModel model, int nodes, base::Seconds work, const Runs& runs) {
  if (model.hardware <= 0 || model.repair.si() <= 0) return 0;
  constexpr int enough = 1000, patience = 4;  // simulated costs are not smooth
  const auto cost = [&](int spares) {
    model.spares = spares;
    return mean_time(model, work, runs) * (nodes + spares);
  };
  int best = 0;
  base::Seconds least = cost(0);
  for (int spares = 1; spares <= std::min(enough, best + patience); ++spares) {
    const base::Seconds next = cost(spares);
    if (!(next < least)) continue;
    least = next;
    best = spares;
  }
  return best;
}

}  // namespace sim
