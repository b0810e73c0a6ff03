// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/occupancy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/plan/kinds.h"
#include "sim/memory/host_footprint.h"
#include "sim/memory/ledger.h"

namespace sim {
namespace {

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
      stage.peak_time_s = trace::seconds(instant_of(in, role, trace, first, footprint.peak.call, footprint.peak.op));
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

void account_memory(const spec::Job& job, const EngineInput& in, const trace::Trace& trace,
                    const std::vector<Footprint>& footprints, result::Prediction& out) {
  out.stages = stage_memory(in, trace, footprints, job.cluster);
  const Fullest most = fullest(*in.plan, footprints, job.cluster);
  out.peak_bytes = most.peak;
  out.capacity_bytes = most.capacity;
  for (const Footprint& footprint : footprints) out.smi_bytes = std::max(out.smi_bytes, footprint.of_process());
  for (const result::StageMemory& stage : out.stages) {
    out.allocated_bytes = std::max(out.allocated_bytes, stage.allocated_bytes);
    out.reserved_bytes = std::max(out.reserved_bytes, stage.reserved_bytes);
  }
  out.fits = most.fits();
  if (!out.fits) out.attack = worst_category(out.stages[most.role]);
  if (job.strategy.offload.any()) add_host(job, *in.plan, out);
}

}  // namespace sim
