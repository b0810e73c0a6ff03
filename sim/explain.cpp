// SPDX-License-Identifier: Apache-2.0
#include "sim/explain.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/plan/build.h"
#include "sim/analysis/account.h"
#include "sim/analysis/critical_path.h"
#include "sim/analysis/what_if.h"
#include "sim/analysis/work_rate.h"
#include "sim/memory/footprint.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"

namespace sim {
namespace {

using result::Explanation;
using result::PathOperator;
using result::PathShare;

using trace::seconds;

std::string category_on_path(const PathPiece& piece, const plan::Plan& plan, const trace::Trace& trace) {
  switch (piece.cause) {
    case PathPiece::Cause::host: return "host";
    case PathPiece::Cause::waiting: return "waiting";
    case PathPiece::Cause::work: break;
  }
  return category_of(plan.works[piece.work], piece.channel < 0 ? "" : trace.channels[piece.channel]);
}

struct Sum {
  Ticks time = 0;
  std::int64_t count = 0;
};

std::vector<PathShare> largest_first(const std::map<std::string, Sum>& sums) {
  std::vector<std::pair<std::string, Sum>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  std::vector<PathShare> out;
  for (const auto& [name, sum] : sorted) out.push_back({name, seconds(sum.time), sum.count});
  return out;
}

struct OperatorSum {
  Sum sum;
  WorkRate::Unit unit = WorkRate::Unit::none;
  double amount = 0, at_peak_s = 0;
};
using OperatorKey = std::tuple<std::string, std::string, std::string>;  // category, name, phase

std::vector<PathOperator> largest_first(const std::map<OperatorKey, OperatorSum>& sums) {
  std::vector<PathOperator> out;
  for (const auto& [key, entry] : sums) {
    PathOperator& op = out.emplace_back();
    std::tie(op.category, op.name, op.phase) = key;
    op.count = entry.sum.count;
    op.time_s = seconds(entry.sum.time);
    op.mean_s = op.time_s / static_cast<double>(op.count);
    if (entry.unit == WorkRate::Unit::none || entry.sum.time <= 0) continue;
    op.rate_unit = entry.unit == WorkRate::Unit::flops ? "FLOP/s" : "B/s";
    op.rate = entry.amount / op.time_s;
    op.of_peak = entry.at_peak_s / op.time_s;
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.time_s > b.time_s; });
  return out;
}

void tell_path(const std::vector<PathPart>& path, const plan::Plan& plan, const trace::Trace& trace,
               const StageRates& rates, Explanation& out) {
  std::map<std::string, Sum> categories, stages;
  std::map<OperatorKey, OperatorSum> operators;
  const auto add = [](Sum& sum, const PathPart& part) {
    sum.time += part.time;
    sum.count += part.count;
  };
  for (const PathPart& part : path) {
    const PathPiece& piece = part.piece;
    const std::string category = category_on_path(piece, plan, trace);
    add(categories[category], part);
    add(stages[std::to_string(piece.stage)], part);
    OperatorSum& op = operators[{category, trace.names[piece.name], trace.phases[piece.phase]}];
    add(op.sum, part);
    if (piece.cause != PathPiece::Cause::work) continue;
    const WorkRate rate = rates.rate_of(plan.works[piece.work], piece.stage);
    op.unit = rate.unit;
    op.amount += rate.amount * part.whole;
    op.at_peak_s += rate.at_peak.si() * part.whole;
  }
  out.categories = largest_first(categories);
  out.stages = largest_first(stages);
  out.operators = largest_first(operators);
}

}  // namespace

Explanation explain(const spec::Job& job) {
  const plan::Plan plan = plan::build(job);
  EngineInput input = priced(plan, job);
  keep_spans(input);
  const trace::Trace trace = simulate(plan, input);

  const result::Prediction prediction = account(job, input, trace, footprints(plan, job));
  Explanation out;
  out.job = prediction.job;
  out.fits = prediction.fits;
  out.warnings = prediction.warnings;
  out.step_time_s = seconds(trace.length);
  const StageRates rates(plan, job.cluster, input.folded);
  tell_path(critical_path(trace, input), plan, trace, rates, out);
  for (const FreeStep& step : what_if_free(input, trace.channels))
    out.what_if.push_back({step.free, seconds(trace.length - step.saved)});
  std::stable_sort(out.what_if.begin(), out.what_if.end(),
                   [](const auto& a, const auto& b) { return a.step_time_s < b.step_time_s; });
  return out;
}

}  // namespace sim
