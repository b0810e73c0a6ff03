// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/exposure.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/plan/kinds.h"
#include "sim/analysis/family.h"
#include "sim/cost/power.h"

namespace sim {
namespace {

using ByFamily = std::map<std::string, Exposed>;

/// Of each work on the kind of node where it takes longest, which is the one that sets the role's pace.
std::vector<Family> families(const spec::Job& job, const plan::Plan& plan, const plan::Role& role) {
  std::vector<Family> out(plan.works.size());
  for (const int kind : plan::kinds_of(plan, role, job.cluster)) {
    const spec::Cluster cluster = job.cluster.of_kind(kind);
    const Paths paths(cluster);
    const Device device = slowest_of(cluster.node, plan.waiting);
    for (std::size_t w = 0; w < out.size(); ++w) {
      Family family = family_of(plan.works[w], paths, device, job.uncertainty, job.network.algorithm);
      if (out[w].name.empty() || family.time > out[w].time) out[w] = std::move(family);
    }
  }
  return out;
}

/// What a role does in a step, each work alone: kernels under Share::compute, the rest under what it is when exposed.
std::array<ByFamily, kShares> alone(const std::vector<Family>& families, const plan::Plan& plan, const plan::Role& role,
                                    const trace::Trace& trace) {
  std::vector<double> calls(plan.segments.size());
  for (const plan::Call& call : role.calls) ++calls[call.segment];
  std::array<ByFamily, kShares> out;
  for (std::size_t s = 0; s < calls.size(); ++s) {
    if (calls[s] == 0) continue;
    for (const plan::Operator& op : plan.segments[s].operators) {
      const Family& family = families[op.work];
      if (family.name.empty()) continue;
      const Share share = op.channel >= 0                      ? share_of_channel(trace.channels[op.channel])
                          : op.stream == plan::Stream::compute ? Share::compute
                          : op.stream == plan::Stream::storage ? Share::storage
                                                               : Share::offload;
      Exposed& total = out[static_cast<int>(share)][family.name];
      const double time = family.time.si() * calls[s];
      total.time_s += time;
      total.error_s += time * family.residual;
    }
  }
  return out;
}

double sum(const ByFamily& families) {
  double total = 0;
  for (const auto& [name, exposed] : families) total += exposed.time_s;
  return total;
}

/// Gives `time_s` to the families in proportion to what each takes alone.
void part(double time_s, const ByFamily& from, ByFamily& to) {
  const double all = sum(from);
  if (!(all > 0)) return;
  for (const auto& [name, exposed] : from) {
    to[name].time_s += exposed.time_s * time_s / all;
    to[name].error_s += exposed.error_s * time_s / all;
  }
}

}  // namespace

std::map<std::string, Exposed> exposure(const spec::Job& job, const EngineInput& in, const trace::Trace& trace,
                                        std::size_t first, const Breakdown& shares) {
  const plan::Plan& plan = *in.plan;
  const plan::Role& role = plan.roles[in.instance_of(trace.tracks[first].rank).role];
  const auto works = alone(families(job, plan, role), plan, role, trace);
  const auto seconds_of = [&](Share share) { return trace::seconds(shares[static_cast<int>(share)]); };

  ByFamily out;
  // The gradient norm's all-reduce is part of the optimizer's share; what kernels take longer than alone is not theirs.
  const ByFamily& kernels = works[static_cast<int>(Share::compute)];
  const ByFamily& norm = works[static_cast<int>(Share::optimizer)];
  const double busy = seconds_of(Share::compute) + seconds_of(Share::optimizer);
  const double usual = std::min(busy, sum(kernels));
  const double reduced = std::min(busy - usual, sum(norm));
  part(usual, kernels, out);
  part(reduced, norm, out);
  const double longer = busy - usual - reduced;
  if (longer > 0) out[kInterferenceCause] = {longer, longer * job.uncertainty.interference};

  for (const Share share : {Share::exposed_tp, Share::exposed_cp, Share::exposed_ep, Share::exposed_pp,
                            Share::exposed_dp, Share::offload, Share::storage}) {
    part(seconds_of(share), works[static_cast<int>(share)], out);
  }
  const double host = seconds_of(Share::host);
  if (host > 0) out[kHostCause] = {host, host * job.uncertainty.host};
  return out;
}

}  // namespace sim
