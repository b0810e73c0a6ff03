// SPDX-License-Identifier: Apache-2.0
#include "sim/host_bound.h"

#include <algorithm>

namespace sim {
namespace {

constexpr double kBound = 0.3;                    // below, small kernels among large ones
constexpr base::Seconds kOfALoop = base::us(50);  // an expert's launches in Python; libraries' loops take less

}  // namespace

std::optional<std::string> host_bound(const spec::Job& job, const result::Prediction& p) {
  const auto host = std::ranges::find(p.breakdown_s, "host", [](const auto& entry) { return entry.first; });
  if (host == p.breakdown_s.end() || !(host->second > kBound * p.step_time_s)) return std::nullopt;
  const int percent = static_cast<int>(100 * host->second / p.step_time_s + 0.5);
  std::string out =
      "the GPUs wait for their host in " + std::to_string(percent) + " % of the step: larger microbatches";
  out += ", cuda_graphs: true or compile: true leave it less to launch";
  if (job.model.moe && job.framework.expert_launch > kOfALoop) {
    const std::string& name = job.framework.name;
    out += "; " + name + " runs experts one after another: write framework: {base: " + name +
           ", expert_launch: 0us} where yours runs them at once";
  }
  return out;
}

}  // namespace sim
