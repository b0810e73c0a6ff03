// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/host_time.h"

#include <algorithm>

namespace sim {
namespace {

/// Those that a loop over experts launches one by one; 0 for what is one kernel in any framework.
std::int64_t experts_of(const plan::Work& work) {
  if (const auto* matmul = std::get_if<plan::Matmul>(&work)) return matmul->grouped ? matmul->batch : 0;
  if (const auto* kernels = std::get_if<plan::MemoryBound>(&work)) return kernels->tensors > 1 ? kernels->tensors : 0;
  return 0;
}

base::Seconds launch_of(const plan::Operator& op, const spec::Job& job) {
  const spec::Framework& framework = job.framework;
  const base::Seconds eager = op.phase == plan::Phase::backward ? framework.backward_launch : framework.launch;
  return job.strategy.compile ? std::min(eager, framework.compiled_launch) : eager;
}

}  // namespace

base::Seconds host_time(const plan::Operator& op, const plan::Plan& plan, const spec::Job& job, double slowdown) {
  if (job.strategy.cuda_graphs == true) return base::Seconds();
  if (op.channel >= 0) return job.framework.collective_launch * op.launches * slowdown;
  const auto experts = static_cast<double>(experts_of(plan.works[op.work]));
  return (launch_of(op, job) * op.launches + job.framework.expert_launch * experts) * slowdown;
}

}  // namespace sim
