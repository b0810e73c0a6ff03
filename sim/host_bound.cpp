// SPDX-License-Identifier: Apache-2.0
#include "sim/host_bound.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/listed.h"
#include "core/base/text.h"

namespace sim {
namespace {

constexpr double kBound = 0.3;                    // below, small kernels among large ones
constexpr base::Seconds kOfALoop = base::us(50);  // an expert's launches in Python; libraries' loops take less

/// What the job does not do yet and its framework's launcher can say; a profile that none starts may do anything.
std::vector<std::string> remedies(const spec::Job& job) {
  const std::string& launcher = job.framework.launcher;
  const spec::Strategy& s = job.strategy;
  const bool graphs = launcher.empty() || launcher == "megatron";
  const bool compiler = launcher.empty() || launcher == "accelerate-fsdp" || launcher == "torchtitan";
  if (s.launch_blocking) return {"no launch_blocking", "larger microbatches"};
  std::vector<std::string> out{"larger microbatches"};
  if (graphs && s.cuda_graphs.value_or(spec::CudaGraphs::none) == spec::CudaGraphs::none)
    out.push_back(job.model.moe ? "cuda_graphs: beside_experts" : "cuda_graphs: true");
  if (compiler && !s.compile && !job.framework.compiles) out.emplace_back("compile: true");
  if (!graphs && !compiler && s.tp > 1) out.emplace_back("fewer tensor-parallel ranks");
  return out;
}

}  // namespace

std::optional<std::string> host_bound(const spec::Job& job, const result::Prediction& p) {
  const auto host = std::ranges::find(p.breakdown_s, "host", [](const auto& entry) { return entry.first; });
  if (host == p.breakdown_s.end() || !(host->second > kBound * p.step_time_s)) return std::nullopt;
  const int percent = static_cast<int>(100 * host->second / p.step_time_s + 0.5);
  std::string out = "the GPUs wait for their host in " + std::to_string(percent) + " % of the step: ";
  const base::Seconds once = job.framework.step;
  if (!job.training.serves() && host->second - once.si() < kBound * (p.step_time_s - once.si())) {
    return out + job.framework.name + " takes " + base::human(once) +
           " of it once a step (framework.step), however large the batch is: a larger global_batch has fewer steps";
  }
  out += base::listed(remedies(job), " or ") + " leave it less to launch";
  if (job.model.moe && job.framework.expert_launch > kOfALoop) {
    const std::string& name = job.framework.name;
    out += "; " + name + " runs experts one after another: write framework: {base: " + name +
           ", expert_launch: 0us, grouped_mm: true} where yours runs them at once";
  }
  return out;
}

}  // namespace sim
