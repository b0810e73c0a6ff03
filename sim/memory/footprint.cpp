// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/footprint.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "core/plan/kinds.h"
#include "core/plan/states.h"
#include "sim/memory/held_back.h"

namespace sim {
namespace {

/// Experts are exchanged, cut and reduced in groups of their own.
int experts_communicators(const plan::Plan& plan, const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  if (!job.model.moe || s.ep * s.etp == 1) return 0;
  return (s.ep > 1) + (s.etp > 1) + (!job.training.serves() && plan.axes[plan::Axis::expert_dp].size > 1);
}

std::int64_t most_gathered(const plan::Plan& plan, const plan::Role& role) {
  std::int64_t most = 0;
  std::int32_t seen = -1;
  for (const plan::Call& call : role.calls) {
    if (call.segment == seen) continue;  // neighbours are mostly alike
    seen = call.segment;
    most = std::max(most, gather_pool(plan, plan.segments[call.segment]));
  }
  return most;
}

}  // namespace

std::int64_t gather_pool(const plan::Plan& plan, const plan::Segment& segment) {
  std::int64_t most = 0, before = 0;
  for (const plan::Operator& op : segment.operators) {
    if (op.stream != plan::Stream::gather) continue;
    const auto* gather = std::get_if<plan::Collective>(&plan.works[op.work]);
    if (!gather) continue;
    most = std::max(most, before + gather->bytes);
    before = gather->bytes;
  }
  return most;
}

std::int64_t capacity_of(const plan::Plan& plan, const plan::Role& role, const spec::Cluster& cluster) {
  auto least = std::numeric_limits<std::int64_t>::max();
  for (const int kind : plan::kinds_of(plan, role, cluster)) {
    least = std::min(least, static_cast<std::int64_t>(cluster.node_of(kind).gpu.memory.si()));
  }
  return least;
}

Fullest fullest(const plan::Plan& plan, const std::vector<Footprint>& all, const spec::Cluster& cluster) {
  Fullest out;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const std::int64_t peak = all[r].total(), capacity = capacity_of(plan, plan.roles[r], cluster);
    if (r == 0 || capacity - peak < out.capacity - out.peak) out = {r, peak, capacity};
  }
  return out;
}

ByteWeights weights_of(const spec::Framework& framework) {
  ByteWeights out;
  out.fill(1);
  for (const plan::Category c : {plan::Category::activations, plan::Category::workspace, plan::Category::logits}) {
    out[static_cast<int>(c)] = 1 + framework.fragmentation;
  }
  if (framework.stream_pools) out[static_cast<int>(plan::Category::communication)] = 0;
  return out;
}

Footprint footprint(const MemoryPeak& peak, const plan::Plan& plan, const spec::Job& job, std::int64_t gathered) {
  const spec::Framework& framework = job.framework;
  // One communicator a kind of group; each pair of neighbouring stages has its own. That of the gradient norm, one
  // number a step, is left out: NCCL connects what a size needs. Replicas that serve never meet.
  const int replicas =
      job.training.serves() ? 0 : (plan.dp * plan.cp > 1) + (plan.axes[plan::Axis::replicate].size > 1);
  const int communicators = (plan.tp > 1) + (plan.cp > 1) + replicas + (plan.pp > 1 ? 3 : 0) +
                            experts_communicators(plan, job) + job.strategy.spreads_vocab();
  Footprint out;
  out.peak = peak;
  const auto moving = [&](plan::Category c) { return static_cast<double>(peak.bytes[static_cast<int>(c)]); };
  const double dynamic =
      moving(plan::Category::activations) + moving(plan::Category::workspace) + moving(plan::Category::logits);
  out.communicators = static_cast<std::int64_t>(communicators * framework.communicator.si());
  out.context = static_cast<std::int64_t>(framework.context.si());
  out.reserved = out.context + static_cast<std::int64_t>(framework.fragmentation * dynamic);
  if (framework.stream_pools) {  // less what the peak itself holds of it
    const auto flying = static_cast<std::int64_t>(moving(plan::Category::communication));
    out.reserved += std::max<std::int64_t>(gathered - flying, 0);
  }
  return out;
}

std::int64_t shards_beside_sums(const plan::Context& c, std::int64_t shards) {
  return c.job.framework.stream_pools && plan::sums_whole(c) && !c.rolling ? shards : 0;
}

std::vector<Footprint> footprints(const plan::Plan& plan, const spec::Job& job) {
  std::vector<Footprint> out;
  const plan::Context context(job);
  for (const plan::Role& role : plan.roles) {
    const std::int64_t gathered = job.framework.stream_pools ? most_gathered(plan, role) : 0;
    Footprint& own = out.emplace_back(footprint(peak_of(plan, role), plan, job, gathered));
    const bool apart = plan::fresh_apart(context);
    if (apart) own.reserved += peak_of(plan, role, apart).total() - own.peak.total();
    // Pools have their own heights, so that most may be reserved at another moment.
    const MemoryPeak heaviest_moment = heaviest(plan, role, weights_of(job.framework), apart);
    own.reserved += std::max<std::int64_t>(0, footprint(heaviest_moment, plan, job, gathered).total() - own.total());
    own.reserved += shards_beside_sums(context, role.resident[static_cast<int>(plan::Category::gradients)]);
    const std::int64_t room = capacity_of(plan, role, job.cluster) - own.total();
    const std::int64_t idle = awaiting_device(plan, role, job) + behind_activations(plan, role, job, own.peak) +
                              too_narrow_for_logits(plan, role, job, own.peak);
    own.held_back = std::clamp<std::int64_t>(room, 0, idle);
  }
  return out;
}

}  // namespace sim
