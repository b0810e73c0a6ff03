// SPDX-License-Identifier: Apache-2.0
#include "real/measure/capturable.h"

#include <set>
#include <string>
#include <variant>

#include "core/plan/low_precision.h"

namespace real {
namespace {

/// Every rank waits there behind a collective of all, so that no graph of one rank waits for a later one of another.
constexpr std::string_view kWaitOfAll = "gradient norm read by the host";

/// For what else the host waits.
std::set<std::string> host_waits(const plan::Plan& plan) {
  std::set<std::string> out;
  for (const plan::Segment& segment : plan.segments) {
    for (const plan::Operator& op : segment.operators) {
      if (!std::holds_alternative<plan::HostSync>(plan.works[static_cast<std::size_t>(op.work)])) continue;
      out.insert(plan.names[static_cast<std::size_t>(op.name)]);
    }
  }
  out.erase(std::string(kWaitOfAll));
  return out;
}

}  // namespace

std::vector<base::Fault> uncapturable(const spec::Job& job, const plan::Plan& plan) {
  std::vector<base::Fault> faults;
  const auto captured = job.strategy.cuda_graphs.value_or(spec::CudaGraphs::none);
  if (captured == spec::CudaGraphs::none) return faults;
  if (captured == spec::CudaGraphs::beside_experts) {
    faults.push_back({"strategy.cuda_graphs",
                      "beside_experts is predicted only: whole steps are captured here, or none",
                      "write cuda_graphs: false"});
    return faults;
  }
  const auto refuse = [&](bool applies, const std::string& what) {
    if (!applies) return;
    faults.push_back(
        {"strategy.cuda_graphs", what + " cannot be captured in a CUDA graph", "write cuda_graphs: false"});
  };
  refuse(job.model.moe.has_value(), "counts of tokens by expert, which the host reads,");
  refuse(job.strategy.offload.any(), "work of the host on what is offloaded");
  refuse(!job.strategy.traits().flushes, "weights that lie elsewhere in each step");
  refuse(plan::lets_go_when_cast(plan::Context(job)), "weights in mxfp8 alone, gathered elsewhere in each step,");
  if (!faults.empty()) return faults;
  for (const std::string& name : host_waits(plan)) refuse(true, "'" + name + "', where one rank alone waits,");
  return faults;
}

}  // namespace real
