// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/work_rate.h"

#include <cstddef>
#include <variant>

#include "core/plan/kinds.h"
#include "core/plan/moved_bytes.h"
#include "sim/network/closed_form.h"
#include "sim/network/path.h"

namespace sim {
namespace {

base::Seconds over(double amount, double rate) { return base::Seconds(rate > 0 ? amount / rate : 0); }

/// What `members` of one node or domain reach, and one that leaves it.
double link_rate(const spec::Cluster& cluster, bool leaves, int members, int sharing) {
  if (leaves) return nic_rate(cluster, members, sharing).si();
  return inside_rate(cluster.node, members, joined_by_nvlink(cluster.node, members)).si();
}

class Rates {
 public:
  explicit Rates(const spec::Cluster& cluster) : cluster_(cluster) {}

  WorkRate operator()(const plan::Matmul& w) const { return flops(w, w.dtype); }
  WorkRate operator()(const plan::Attention& w) const { return flops(w, w.dtype); }
  WorkRate operator()(const plan::MemoryBound& w) const {
    return bytes(static_cast<double>(w.read + w.written), cluster_.node.gpu.hbm.si());
  }
  WorkRate operator()(const plan::Collective& w) const {
    if (w.group.size < 2) return {};
    return bytes(static_cast<double>(w.bytes) * bus_factor(w.kind, w.group.size),
                 link_rate(cluster_, w.group.domains > 1, w.group.per_domain, w.group.sharing));
  }
  WorkRate operator()(const plan::Transfer& w) const {
    return bytes(static_cast<double>(w.bytes),
                 link_rate(cluster_, w.crosses_domain, w.crosses_domain ? 1 : 2, w.sharing));
  }
  WorkRate operator()(const plan::HostSync&) const { return {}; }
  WorkRate operator()(const plan::RatedCopy& w) const {
    return bytes(static_cast<double>(w.bytes), static_cast<double>(w.rate));
  }
  WorkRate operator()(const plan::Convolution& w) const { return flops(w, w.dtype); }
  WorkRate operator()(const plan::IndexScores& w) const { return flops(w, w.dtype); }
  WorkRate operator()(const plan::Recurrence& w) const {
    return bytes(static_cast<double>(plan::moved_bytes(w)), cluster_.node.gpu.hbm.si());
  }

 private:
  WorkRate flops(const plan::Work& work, spec::Dtype dtype) const {
    const double amount = plan::hardware_flops(work);
    return {WorkRate::Unit::flops, amount, over(amount, cluster_.node.gpu.peak_of(dtype).si())};
  }
  static WorkRate bytes(double amount, double rate) { return {WorkRate::Unit::bytes, amount, over(amount, rate)}; }

  const spec::Cluster& cluster_;
};

}  // namespace

StageRates::StageRates(const plan::Plan& plan, const spec::Cluster& cluster, bool folded) : folded_(folded) {
  for (int kind = 0; kind < cluster.kinds(); ++kind) kinds_.push_back(cluster.of_kind(kind));
  for (const plan::Role& role : plan.roles) {
    for (const int kind : plan::kinds_of(plan, role, cluster)) of_stage_[role.stage].insert(kind);
  }
}

WorkRate StageRates::rate_of(const plan::Work& work, int stage) const {
  WorkRate out;
  for (const int kind : of_stage_.at(stage)) {
    const WorkRate one = std::visit(Rates(kinds_[static_cast<std::size_t>(kind)]), work);
    const bool longer = one.at_peak > out.at_peak;
    if (out.unit == WorkRate::Unit::none || longer == folded_) out = one;
  }
  return out;
}

}  // namespace sim
