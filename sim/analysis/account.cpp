// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/account.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <variant>

#include "core/base/text.h"
#include "core/plan/facts.h"
#include "core/plan/kinds.h"
#include "sim/analysis/breakdown.h"
#include "sim/analysis/interval.h"
#include "sim/analysis/provenance.h"
#include "sim/analysis/title.h"
#include "sim/memory/host_footprint.h"
#include "sim/memory/ledger.h"
#include "sim/memory/tight.h"
#include "sim/network/closed_form.h"
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

/// What one channel, or all channels of one purpose, carried.
struct Traffic {
  std::int64_t bytes = 0, calls = 0;
  double bus_bytes = 0;
  trace::Ticks time = 0;
  void add(const plan::Work& work) {
    if (const auto* collective = std::get_if<plan::Collective>(&work)) {
      bytes += collective->bytes;
      bus_bytes += static_cast<double>(collective->bytes) * bus_factor(collective->kind, collective->group.size);
    } else if (const auto* transfer = std::get_if<plan::Transfer>(&work)) {
      bytes += transfer->bytes;
      bus_bytes += static_cast<double>(transfer->bytes);
    }
  }
};

std::vector<result::Communication> communication(const plan::Plan& plan, const trace::Trace& trace, std::size_t first) {
  std::vector<Traffic> by_channel(trace.channels.size());
  for (int s = 0; s < trace.streams; ++s) {
    for (const trace::Span& span : trace.tracks[first + s].spans) {
      if (span.channel < 0) continue;
      Traffic& traffic = by_channel[span.channel];
      ++traffic.calls;
      traffic.time += span.end - span.start;
      traffic.add(plan.works[span.work]);
    }
  }
  std::map<std::string, Traffic> by_axis;
  for (std::size_t c = 0; c < by_channel.size(); ++c) {
    if (by_channel[c].calls == 0) continue;
    Traffic& axis = by_axis[trace.channels[c]];
    axis.bytes += by_channel[c].bytes;
    axis.calls += by_channel[c].calls;
    axis.bus_bytes += by_channel[c].bus_bytes;
    axis.time += by_channel[c].time;
  }
  std::vector<result::Communication> out;
  for (const auto& [name, traffic] : by_axis) {
    const double time = seconds(traffic.time);
    out.push_back({name, traffic.bytes, traffic.calls, time, time > 0 ? traffic.bus_bytes / time : 0});
  }
  return out;
}

std::string operator_text(const plan::Plan& plan, const plan::Role& role, const MemoryPeak& peak) {
  if (peak.call < 0 || peak.op < 0) return "";
  const plan::Call& call = role.calls[peak.call];
  const plan::Operator& op = plan.segments[call.segment].operators[peak.op];
  std::string text(plan::kPhaseNames[static_cast<int>(op.phase)]);
  if (op.layer >= 0) text += " layer " + std::to_string(op.layer);
  if (call.microbatch >= 0) text += " microbatch " + std::to_string(call.microbatch);
  return text + ": " + plan.names[op.name];
}

std::vector<result::StageMemory> stage_memory(const EngineInput& in, const trace::Trace& trace,
                                              const std::vector<Footprint>& footprints, const spec::Cluster& cluster) {
  const plan::Plan& plan = *in.plan;
  std::vector<result::StageMemory> out;
  for (std::size_t r = 0; r < plan.roles.size(); ++r) {
    const plan::Role& role = plan.roles[r];
    const Footprint& footprint = footprints[r];
    result::StageMemory& stage = out.emplace_back();
    stage.stage = role.stage;
    stage.peak_bytes = footprint.total();
    stage.capacity_bytes = capacity_of(plan, role, cluster);
    for (int k = 0; k < plan::kCategories; ++k) {
      const bool shares = k == static_cast<int>(plan::Category::communication);
      stage.categories.emplace_back(plan::kCategoryNames[k],
                                    footprint.peak.bytes[k] + (shares ? footprint.communicators : 0));
    }
    stage.categories.emplace_back("reserved", footprint.reserved);
    stage.allocated_bytes = footprint.allocated();
    stage.reserved_bytes = footprint.held_by_allocator();
    stage.peak_operator = operator_text(plan, role, footprint.peak);
    if (footprint.peak.call >= 0) {
      const std::size_t first = tracks_of(trace, role);
      stage.peak_time_s = seconds(instant_of(in, role, trace, first, footprint.peak.call, footprint.peak.op));
    }
  }
  return out;
}

/// The biggest part of the fullest stage's memory, in words.
std::string worst_category(const result::StageMemory& stage) {
  const auto worst = std::max_element(stage.categories.begin(), stage.categories.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  return worst->first;
}

/// Of a GPU of the cluster, all kinds by their number.
base::FlopRate mean_peak(const spec::Cluster& cluster, spec::Dtype dtype) {
  if (!cluster.mixed()) return cluster.node.gpu.peak_of(dtype);
  base::FlopRate sum;
  for (const spec::NodeGroup& group : cluster.groups) sum = sum + group.node.gpu.peak_of(dtype) * group.nodes;
  return sum / cluster.nodes;
}

/// What is offloaded has to fit, too.
void add_host(const spec::Job& job, const plan::Plan& plan, result::Prediction& out) {
  const spec::Node& node = job.cluster.node;
  const HostFootprint host = host_footprint(plan, job);
  out.host_bytes = host.bytes;
  out.host_capacity_bytes = static_cast<std::int64_t>(node.host.memory.si());
  out.nvme_bytes = host.nvme_bytes;
  out.nvme_capacity_bytes = static_cast<std::int64_t>(node.nvme.capacity.si());
  if (host.fits(node)) return;
  out.fits = false;
  if (out.attack.empty()) out.attack = out.host_bytes > out.host_capacity_bytes ? "host_memory" : "nvme";
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

  const auto [first, time] = slowest(trace, in);
  const Breakdown& shares = time.shares;
  out.breakdown_stage = trace.tracks[first].stage;
  out.breakdown_s = exact_shares(shares, out.step_time_s);
  out.bubble_fraction =
      static_cast<double>(shares[static_cast<int>(Share::bubble)]) / static_cast<double>(trace.length);
  out.communication = communication(plan, trace, first);
  out.interval_contributions = interval_causes(job, in, trace, first, shares);
  const Interval interval = interval_of(out.interval_contributions);
  out.step_time_low_s = out.step_time_s * interval.low;
  out.step_time_high_s = out.step_time_s * interval.high;

  out.stages = stage_memory(in, trace, footprints, job.cluster);
  const Fullest most = fullest(plan, footprints, job.cluster);
  out.peak_bytes = most.peak;
  out.capacity_bytes = most.capacity;
  for (const Footprint& footprint : footprints) out.smi_bytes = std::max(out.smi_bytes, footprint.of_process());
  for (const result::StageMemory& stage : out.stages) {
    out.allocated_bytes = std::max(out.allocated_bytes, stage.allocated_bytes);
    out.reserved_bytes = std::max(out.reserved_bytes, stage.reserved_bytes);
  }
  out.fits = most.fits();
  if (!out.fits) out.attack = worst_category(out.stages[most.role]);
  if (job.strategy.offload.any()) add_host(job, plan, out);
  Origins from = origins(job, plan);
  out.provenance = std::move(from.numbers);
  out.warnings = spec::warnings(job);
  if (is_tight(most.peak, most.capacity)) {
    out.warnings.push_back("fits with " + base::human(base::Bytes(static_cast<double>(most.capacity - most.peak))) +
                           " to spare, less than predictions of memory are off by: run it, or leave it more room");
  }
  for (const plan::Role& role : plan.roles) {
    if (plan::kinds_of(plan, role, job.cluster).size() == 1) continue;
    out.warnings.push_back("stage " + std::to_string(role.stage) +
                           " stands on several kinds of node: the slowest of them sets its pace" +
                           (job.simulation.unfold ? "" : ", operator by operator; exact with simulation.unfold: true"));
  }
  for (std::string& line : condition_warnings(plan, job)) out.warnings.push_back(std::move(line));
  for (std::string& line : from.extrapolated) out.warnings.push_back(std::move(line));
  out.settings = plan::facts_of(job);
  out.settings.emplace_back("training.optimizer", spec::name(job.training.optimizer));
  out.settings.emplace_back("strategy.framework", job.framework.name);
  out.assumptions = job.assumptions;
  return out;
}

}  // namespace sim
