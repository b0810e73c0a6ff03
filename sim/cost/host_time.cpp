// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/host_time.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/plan/low_precision.h"

namespace sim {
namespace {

/// Those that a loop over experts launches one by one; 0 for what is one kernel in any framework.
std::int64_t experts_of(const plan::Work& work) {
  if (const auto* matmul = std::get_if<plan::Matmul>(&work)) return matmul->grouped ? matmul->batch : 0;
  if (const auto* kernels = std::get_if<plan::MemoryBound>(&work)) return kernels->tensors > 1 ? kernels->tensors : 0;
  return 0;
}

/// How much of a module's pass an operator stands for: a linear layer's forward is one matmul, its backward two; both
/// passes of fused attention are one kernel. 0: the operator is no module's.
double share_of_module(const plan::Work& work, bool backward) {
  if (std::holds_alternative<plan::Attention>(work)) return 1;
  const auto* matmul = std::get_if<plan::Matmul>(&work);
  if (!matmul || (matmul->batch > 1 && !matmul->grouped)) return 0;
  return backward ? 0.5 : 1;
}

/// Neither sharded nor cut: a module's forward is no more than its kernels.
bool is_plain(const spec::Strategy& s) { return s.tp == 1 && s.cp == 1 && s.pp == 1 && s.zero < 2; }

base::Seconds launches_of(const plan::Operator& op, const plan::Work& work, const spec::Job& job) {
  const spec::Framework& framework = job.framework;
  const bool backward = op.phase == plan::Phase::backward;
  const bool plain = framework.plain_launch.si() > 0 && is_plain(job.strategy);
  const base::Seconds wrapped = backward ? framework.backward_launch : framework.launch;
  const base::Seconds eager = plain ? framework.plain_launch : wrapped;
  if (job.strategy.compile) return std::min(eager, framework.compiled_launch) * op.launches;
  const double module = op.launches > 0 ? share_of_module(work, backward) : 0;  // or another operator's kernel is its
  return std::max(eager * op.launches, framework.module_launch * module);
}

/// Whether a matmul is a low-rank adapter's: one of its sides is the rank.
bool is_adapters(const plan::Matmul& matmul, const spec::Strategy& s) {
  return s.lora && std::min({matmul.m, matmul.n, matmul.k}) <= s.lora->rank;
}

/// Passes of linear layers that an operator stands for, where each gathers its own parameters. Adapters are small
/// enough to stay (DeepSpeed: stage3_param_persistence_threshold), and frozen layers have one matmul backward.
double fetches_of(const plan::Work& work, bool backward, const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  const auto* matmul = std::get_if<plan::Matmul>(&work);
  if (!matmul || s.zero < 3 || job.training.serves() || is_adapters(*matmul, s)) return 0;
  const std::int64_t sharing = std::int64_t{s.data()} * s.cp * (matmul->grouped ? s.tp : 1);
  if (sharing <= (matmul->grouped ? std::int64_t{s.ep} * s.etp : 1)) return 0;
  const double share = s.lora ? std::ceil(share_of_module(work, backward)) : share_of_module(work, backward);
  return share * static_cast<double>(std::max<std::int64_t>(1, experts_of(work)));
}

/// All experts of a layer that fuses activation and casts with their matmuls; those of layers left in 16 bits are not.
bool are_one_kernel(const plan::Operator& op, const spec::Job& job) {
  return job.strategy.fused_kernels.experts.value_or(false) && plan::narrow(job, op.layer);
}

/// Whether it brings the pieces of tensor-parallel shards that are multiplied as they come.
bool is_in_pieces(const plan::Channel& channel, const spec::Job& job) {
  return job.strategy.overlap.tp == spec::TpOverlap::chunked && channel.kind == plan::Channel::Kind::group &&
         channel.axis == plan::Axis::tp;
}

base::Seconds collective_launch(const plan::Operator& op, const plan::Plan& plan, const spec::Job& job) {
  const spec::Framework& framework = job.framework;
  const bool stalls = plan.stages_over_fabric && is_in_pieces(plan.channels[op.channel], job);
  return framework.collective_launch + framework.pipelined_tp_launch * (stalls ? job.strategy.tp : 0);
}

}  // namespace

base::Seconds host_time(const plan::Operator& op, const plan::Plan& plan, const spec::Job& job, double slowdown) {
  if (job.strategy.cuda_graphs == spec::CudaGraphs::whole) return base::Seconds();
  const plan::Work& work = plan.works[op.work];
  const std::int64_t experts = experts_of(work);
  const bool beside = job.strategy.cuda_graphs == spec::CudaGraphs::beside_experts;
  if (beside && op.channel < 0 && experts == 0) return base::Seconds();
  if (op.channel >= 0) return collective_launch(op, plan, job) * op.launches * slowdown;
  const double fetches = fetches_of(work, op.phase == plan::Phase::backward, job);
  return (launches_of(op, work, job) + job.framework.module_fetch * fetches) * slowdown +
         job.framework.expert_launch * static_cast<double>(are_one_kernel(op, job) ? 0 : experts);
}

double slowdown_of(const spec::Host& host, const spec::Framework& framework) {
  return std::max(std::min(1.0, host.launch_slowdown), host.launch_slowdown / framework.host_slowdown);
}

}  // namespace sim
