// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/account.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/plan/facts.h"
#include "core/plan/kinds.h"
#include "sim/analysis/breakdown.h"
#include "sim/analysis/interval.h"
#include "sim/analysis/occupancy.h"
#include "sim/analysis/provenance.h"
#include "sim/analysis/title.h"
#include "sim/analysis/traffic.h"
#include "sim/memory/tight.h"
#include "sim/pricing/conditions.h"

namespace sim {
namespace {

using trace::seconds;

/// The shares in seconds, so that their sum, taken in any order, is `step` exactly: each is rounded to the step's last
/// bit, which makes every partial sum exact, and the largest one is what the others leave.
std::vector<std::pair<std::string, double>> exact_shares(const Breakdown& shares, double step) {
  std::vector<std::pair<std::string, double>> out;
  int exponent = 0;
  std::frexp(step, &exponent);
  const double last_bit = std::ldexp(1.0, exponent - std::numeric_limits<double>::digits);
  const auto largest = std::max_element(shares.begin(), shares.end()) - shares.begin();
  double others = 0;
  for (int k = 0; k < kShares; ++k) {
    const double share = std::nearbyint(seconds(shares[k]) / last_bit) * last_bit;
    if (k != largest) others += share;
    out.emplace_back(kShareNames[k], share);
  }
  out[largest].second = step - others;
  return out;
}

/// The rank that waits least, the one that the others wait for: its first track and where its time went.
struct Shown {
  std::size_t first = 0;
  WaitsAndShares time;
};

Shown slowest(const trace::Trace& trace, const EngineInput& in) {
  Shown best;
  for (std::size_t first = 0; first < trace.tracks.size(); first += trace.streams) {
    const WaitsAndShares time = waits_and_shares(trace, in, first);
    if (first == 0 || time.waits < best.time.waits) best = {first, time};
  }
  return best;
}

/// Of a GPU of the cluster, all kinds by their number.
base::FlopRate mean_peak(const spec::Cluster& cluster, spec::Dtype dtype) {
  if (!cluster.mixed()) return cluster.node.gpu.peak_of(dtype);
  base::FlopRate sum;
  for (const spec::NodeGroup& group : cluster.groups) sum = sum + group.node.gpu.peak_of(dtype) * group.nodes;
  return sum / cluster.nodes;
}

void account_rates(const spec::Job& job, const plan::Plan& plan, result::Prediction& out) {
  out.tokens_per_s = plan.tokens / out.step_time_s;
  out.tokens_per_s_per_gpu = out.tokens_per_s / out.gpus;
  if (job.model.is_list()) out.samples_per_s = out.tokens_per_s;
  const double gpu_seconds = out.step_time_s * out.gpus;
  out.model_tflops_per_gpu = plan.model_flops / gpu_seconds / 1e12;
  out.hardware_tflops_per_gpu = plan.hardware_flops / gpu_seconds / 1e12;
  const base::FlopRate precise = mean_peak(job.cluster, job.training.precision);
  const base::FlopRate half = mean_peak(job.cluster, spec::Dtype::bf16);
  const base::FlopRate bf16 = half.si() > 0 ? half : precise;
  out.mfu = out.model_tflops_per_gpu * 1e12 / bf16.si();
  out.hfu = out.hardware_tflops_per_gpu * 1e12 / bf16.si();
  out.mfu_of_precision = out.model_tflops_per_gpu * 1e12 / precise.si();
}

void account_time(const spec::Job& job, const EngineInput& in, const trace::Trace& trace, result::Prediction& out) {
  const auto [first, time] = slowest(trace, in);
  const Breakdown& shares = time.shares;
  out.breakdown_stage = trace.tracks[first].stage;
  out.breakdown_s = exact_shares(shares, out.step_time_s);
  out.bubble_fraction =
      static_cast<double>(shares[static_cast<int>(Share::bubble)]) / static_cast<double>(trace.length);
  out.communication = communication(*in.plan, trace, first);
  out.interval_contributions = interval_causes(job, in, trace, first, shares);
  const Interval interval = interval_of(out.interval_contributions);
  out.step_time_low_s = out.step_time_s * interval.low;
  out.step_time_high_s = out.step_time_s * interval.high;
}

std::vector<std::string> warnings(const spec::Job& job, const plan::Plan& plan, const result::Prediction& out) {
  std::vector<std::string> lines = spec::warnings(job);
  if (is_tight(out.peak_bytes, out.capacity_bytes)) {
    lines.push_back("fits with " + base::human(base::Bytes(static_cast<double>(out.capacity_bytes - out.peak_bytes))) +
                    " to spare, less than predictions of memory are off by: run it, or leave it more room");
  }
  for (const plan::Role& role : plan.roles) {
    if (plan::kinds_of(plan, role, job.cluster).size() == 1) continue;
    lines.push_back("stage " + std::to_string(role.stage) +
                    " stands on several kinds of node: the slowest of them sets its pace" +
                    (job.simulation.unfold ? "" : ", operator by operator; exact with simulation.unfold: true"));
  }
  std::ranges::move(condition_warnings(plan, job), std::back_inserter(lines));
  return lines;
}

}  // namespace

result::Prediction account(const spec::Job& job, const EngineInput& in, const trace::Trace& trace,
                           const std::vector<Footprint>& footprints) {
  const plan::Plan& plan = *in.plan;
  result::Prediction out;
  out.job = title(job);
  out.gpus = plan.axes.ranks * plan.pp;
  out.operators = plan.operators();
  out.step_time_s = seconds(trace.length);
  account_rates(job, plan, out);
  account_time(job, in, trace, out);
  account_memory(job, in, trace, footprints, out);
  Origins from = origins(job, plan);
  out.provenance = std::move(from.numbers);
  out.warnings = warnings(job, plan, out);
  std::ranges::move(from.extrapolated, std::back_inserter(out.warnings));
  out.settings = plan::facts_of(job);
  out.settings.emplace_back("training.optimizer", spec::name(job.training.optimizer));
  out.settings.emplace_back("strategy.framework", job.framework.name);
  out.assumptions = job.assumptions;
  return out;
}

}  // namespace sim
