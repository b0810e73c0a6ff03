// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/footprint.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <variant>

#include "core/plan/build.h"
#include "core/plan/kinds.h"
#include "sim/memory/held_back.h"
#include "sim/memory/host_footprint.h"

namespace sim {
namespace {

bool fits(const spec::Job& changed) {
  if (!spec::check(changed).empty()) return false;
  const spec::Job job = spec::resolve(changed);  // other stages may hold other layers
  const plan::Plan plan = plan::build(job);
  if (!host_footprint(plan, job).fits(job.cluster.node)) return false;
  const std::vector<Footprint> all = footprints(plan, job);
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].total() > capacity_of(plan, plan.roles[r], job.cluster)) return false;
  }
  return true;
}

/// One change of a job. Thrifty ones spend time for memory and may be combined; the others cut the job another way or
/// say less than one of the thrifty.
struct Change {
  std::string flags;
  bool thrifty;
  std::function<void(spec::Job&)> apply;
};

std::string flag(const char* name, long long value) { return std::string(name) + ' ' + std::to_string(value); }

/// Zero 3 with the overlap that resolve() gives it: units gathered ahead take their room.
void fully_shard(spec::Job& job) {
  job.strategy.zero = 3;
  if (job.framework.zero3_overlaps) job.strategy.overlap.grad_reduce = job.strategy.overlap.param_gather = true;
}

/// Experts are exchanged, cut and reduced in groups of their own.
int experts_communicators(const plan::Plan& plan, const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  if (!job.model.moe || s.ep * s.etp == 1) return 0;
  return (s.ep > 1) + (s.etp > 1) + (plan.axes[plan::Axis::expert_dp].size > 1);
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

/// Parameters and states kept on the host. False where that is no change.
bool offload(spec::Job& job) {
  if (job.training.serves() || job.strategy.offload.any()) return false;
  fully_shard(job);
  job.strategy.offload = {spec::Offload::To::cpu, spec::Offload::To::cpu, false};
  return true;
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

Footprint footprint(const MemoryPeak& peak, const plan::Plan& plan, const spec::Job& job, std::int64_t gathered) {
  const spec::Framework& framework = job.framework;
  // One communicator a kind of group; each pair of neighbouring stages has its own. That of the gradient norm, one number
  // a step, is left out: NCCL connects what a size needs.
  const int communicators = (plan.tp > 1) + (plan.cp > 1) + (plan.dp * plan.cp > 1) +
                            (plan.axes[plan::Axis::replicate].size > 1) + (plan.pp > 1 ? 3 : 0) +
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

std::vector<Footprint> footprints(const plan::Plan& plan, const spec::Job& job) {
  std::vector<Footprint> out;
  for (const plan::Role& role : plan.roles) {
    const std::int64_t gathered = job.framework.stream_pools ? most_gathered(plan, role) : 0;
    Footprint& own = out.emplace_back(footprint(peak_of(plan, role), plan, job, gathered));
    const std::int64_t room = capacity_of(plan, role, job.cluster) - own.total();
    const std::int64_t idle = awaiting_device(plan, role, job) + behind_activations(plan, role, job, own.peak) +
                              too_narrow_for_logits(plan, role, job, own.peak);
    own.held_back = std::clamp<std::int64_t>(room, 0, idle);
  }
  return out;
}

std::vector<std::string> changes_that_fit(const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  std::vector<Change> changes;
  const bool trains = !job.training.serves();
  if (trains && s.zero == 0 && s.data() * s.cp > 1)
    changes.push_back({"--zero 1", true, [](spec::Job& j) { j.strategy.zero = 1; }});
  if (s.tp > 1 && !s.sp) changes.push_back({"--sp", true, [](spec::Job& j) { j.strategy.sp = true; }});
  if (trains && s.recompute.kind == spec::Recompute::Kind::none) {
    changes.push_back({"--recompute selective", false, [](spec::Job& j) {
                         j.strategy.recompute = {spec::Recompute::Kind::selective, 0};
                       }});
  }
  if (job.training.micro_batch > 1) {
    if (job.training.micro_batch > 3) {
      changes.push_back({flag("--micro-batch", job.training.micro_batch / 2), false,
                         [](spec::Job& j) { j.training.micro_batch /= 2; }});
    }
    changes.push_back({"--micro-batch 1", true, [](spec::Job& j) { j.training.micro_batch = 1; }});
  }
  if (trains && (s.recompute.kind != spec::Recompute::Kind::full || s.recompute.layers > 0)) {
    changes.push_back({"--recompute full", true, [](spec::Job& j) {
                         j.strategy.recompute = {spec::Recompute::Kind::full, 0};
                       }});
  }
  if (s.zero < 3 && s.data() > 1) {
    changes.push_back({"--zero 3", false, fully_shard});
  }
  // Tensor parallelism over the fabric fits as well, and nobody wants its step time.
  const int reach = std::max(job.cluster.node.gpus, job.cluster.node.nvlink.domain);
  for (const int factor : {2, 4, 8}) {
    if (s.data() % factor != 0) continue;
    const int dp = s.data() / factor;
    if (s.tp * factor <= reach) {
      changes.push_back({flag("--tp", s.tp * factor) + ' ' + flag("--dp", dp), false, [=](spec::Job& j) {
                           j.strategy.tp *= factor;
                           j.strategy.dp = dp;
                         }});
    }
    if (s.vpp == 1 && s.stage_layers.empty()) {
      changes.push_back({flag("--pp", s.pp * factor) + ' ' + flag("--dp", dp), false, [=](spec::Job& j) {
                           j.strategy.pp *= factor;
                           j.strategy.dp = dp;
                         }});
    }
  }
  std::vector<std::string> out;
  for (const Change& change : changes) {
    spec::Job changed = job;
    change.apply(changed);
    if (fits(changed)) out.push_back(change.flags);
    if (out.size() == 4) break;
  }
  if (!out.empty()) return out;
  // No single change is enough: the thrifty ones together.
  spec::Job thrifty = job;
  std::string flags;
  for (const Change& change : changes) {
    if (!change.thrifty) continue;
    change.apply(thrifty);
    flags += (flags.empty() ? "" : " ") + change.flags;
  }
  if (!flags.empty() && fits(thrifty)) out.push_back(flags);
  if (!out.empty()) return out;
  // Nor are they: parameters and gradients sharded besides, and behind all else kept on the host.
  const std::string shards = "--zero 1";
  std::string others = flags.starts_with(shards) ? flags.substr(shards.size()) : (flags.empty() ? "" : " " + flags);
  if (s.zero < 3) others = "--zero 3" + others;
  if (s.zero < 3 && s.data() > 1) {
    fully_shard(thrifty);
    if (fits(thrifty)) return {others};
  }
  if (offload(thrifty) && fits(thrifty)) {
    out.push_back(others + " --set strategy.offload.optimizer=cpu --set strategy.offload.parameters=cpu");
    if (out.front().starts_with(' ')) out.front().erase(0, 1);
  }
  return out;
}

}  // namespace sim
