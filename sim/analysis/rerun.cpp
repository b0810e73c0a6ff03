// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/rerun.h"

#include "core/plan/build.h"
#include "sim/cost/host_time.h"
#include "sim/engine/chains.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"

namespace sim {

Rerun::Rerun(const spec::Job& job, const plan::Plan& plan, const spec::Input& input, double value)
    : job_(job), plan_(plan), input_(input) {
  spec::set_input(job_, input.name, value);
  if (input.shapes_plan) own_ = plan::build(job_);
}

trace::Ticks Rerun::length() const { return length_of(plan(), job_); }

trace::Ticks length_of(const plan::Plan& plan, const spec::Job& job) {
  EngineInput in = priced(plan, job);
  chain(in);
  return length_of(plan, std::move(in));
}

std::vector<double> work_prices(const plan::Plan& plan, const spec::Job& job) {
  std::vector<double> out;
  for (int kind = 0; kind < job.cluster.kinds(); ++kind) {
    const spec::Cluster cluster = job.cluster.of_kind(kind);
    const spec::Outages none{.seed = job.simulation.seed};
    for (const base::Seconds& price : prices_of(plan, cluster, job.network, none)) out.push_back(price.si());
  }
  return out;
}

std::vector<double> costs(const plan::Plan& plan, const spec::Job& job) {
  std::vector<double> out = work_prices(plan, job);
  const spec::Framework& f = job.framework;
  for (const base::Seconds& host :
       {f.launch, f.backward_launch, f.compiled_launch, f.plain_launch, f.module_launch, f.module_fetch,
        f.expert_launch, f.collective_launch, f.pipelined_tp_launch, f.step}) {
    out.push_back(host.si());
  }
  for (int kind = 0; kind < job.cluster.kinds(); ++kind) {
    const spec::Calibration& calibration = job.cluster.node_of(kind).calibration;
    out.push_back(calibration.compute_slowdown);
    out.push_back(calibration.comm_slowdown);
    out.push_back(calibration.power.jitter);
    out.push_back(slowdown_of(job.cluster.node_of(kind).host, f));
  }
  return out;
}

}  // namespace sim
