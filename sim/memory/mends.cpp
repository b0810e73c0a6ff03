// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/mends.h"

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "core/plan/build.h"
#include "sim/memory/footprint.h"
#include "sim/memory/host_footprint.h"
#include "sim/memory/tight.h"

namespace sim {
namespace {

using spec::Recompute;

constexpr std::size_t kMost = 4;  // single changes told

enum class Room { none, tight, ample };

/// Where there is any room, `job` is resolved. REQUIRES: not resolved, so that the change has its own defaults.
Room room(spec::Job& job) {
  if (!spec::check(job).empty()) return Room::none;
  job = spec::resolve(job);
  const plan::Plan plan = plan::build(job);
  if (!host_footprint(plan, job).fits(job.cluster.node)) return Room::none;
  const std::vector<Footprint> all = footprints(plan, job);
  Room out = Room::ample;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const std::int64_t capacity = capacity_of(plan, plan.roles[r], job.cluster);
    if (all[r].total() > capacity) return Room::none;
    if (is_tight(all[r].total(), capacity)) out = Room::tight;
  }
  return out;
}
bool fits(spec::Job& job) { return room(job) != Room::none; }

/// One change of a job that is not resolved. Thrifty ones spend time for memory and may be combined; the others cut the
/// job another way or say less than one of the thrifty.
struct Change {
  std::string flags;
  bool thrifty;
  std::function<void(spec::Job&)> apply;
  std::string family = {};  // once one of a family fits, the others would only cut further
};

std::string flag(const char* name, long long value) { return std::string(name) + ' ' + std::to_string(value); }

void fully_shard(spec::Job& job) { job.strategy.zero = 3; }

/// Experts over more of the ranks that hold the same ones now.
void add_wider_experts(const spec::Job& job, std::vector<Change>& changes) {
  if (!job.model.moe) return;
  for (int ep = 2 * job.strategy.ep; ep <= job.model.moe->experts; ep *= 2) {
    changes.push_back({flag("--ep", ep), false, [ep](spec::Job& j) { j.strategy.ep = ep; }, "experts"});
  }
}

/// Wider tensor or context parallelism or more stages instead of replicas. Tensor parallelism over the fabric fits as
/// well, and nobody wants its step time; context parallelism cuts what long sequences leave.
void add_other_cuts(const spec::Job& job, std::vector<Change>& changes) {
  constexpr std::int64_t kLong = 16'384;
  const spec::Strategy& s = job.strategy;
  const bool lists_stages = !job.stated->strategy.stage_layers.empty();
  const int reach = job.cluster.node.island();
  for (const int factor : {2, 4, 8}) {
    if (s.data() % factor != 0) continue;
    const int dp = s.data() / factor;
    const auto cut = [&](const char* name, int spec::Strategy::*degree, const char* also, bool sp) {
      const int to = s.*degree * factor;
      changes.push_back({flag(name, to) + also + ' ' + flag("--dp", dp), false,
                         [=](spec::Job& j) {
                           j.strategy.*degree = to;
                           j.strategy.dp = dp;
                           if (sp) j.strategy.sp = true;
                         },
                         flag(name, to)});
    };
    if (s.tp * factor <= reach) {
      cut("--tp", &spec::Strategy::tp, "", false);
      if (!s.sp) cut("--tp", &spec::Strategy::tp, " --sp", true);
    }
    if (!job.training.serves() && job.training.sequence >= kLong) cut("--cp", &spec::Strategy::cp, "", false);
    if (s.vpp == 1 && !lists_stages) cut("--pp", &spec::Strategy::pp, "", false);
  }
}

void add_smaller_microbatches(const spec::Job& job, std::vector<Change>& changes) {
  const auto given = job.training.micro_batch;
  if (given > 3) {
    changes.push_back({flag("--micro-batch", given / 2), false, [](spec::Job& j) { j.training.micro_batch /= 2; }});
  }
  if (given > 1) changes.push_back({"--micro-batch 1", true, [](spec::Job& j) { j.training.micro_batch = 1; }});
}

bool can_shard(const spec::Strategy& s) { return s.zero < 3 && s.data() * s.cp > 1; }

/// All that the resolved job does not do yet, those first that usually cost least time.
std::vector<Change> changes_of(const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  std::vector<Change> changes;
  const bool trains = !job.training.serves();
  if (trains && s.zero == 0 && s.data() * s.cp > 1)
    changes.push_back({"--zero 1", true, [](spec::Job& j) { j.strategy.zero = 1; }});
  if (trains && s.zero < 2 && can_shard(s))
    changes.push_back({"--zero 2", false, [](spec::Job& j) { j.strategy.zero = 2; }});
  add_wider_experts(job, changes);
  if (s.tp > 1 && !s.sp) changes.push_back({"--sp", true, [](spec::Job& j) { j.strategy.sp = true; }});
  if (trains && s.recompute.kind == Recompute::Kind::none) {
    changes.push_back({"--recompute selective", false, [](spec::Job& j) {
                         j.strategy.recompute = {Recompute::Kind::selective, 0};
                       }});
  }
  add_smaller_microbatches(job, changes);
  if (trains && (s.recompute.kind != Recompute::Kind::full || s.recompute.layers > 0)) {
    changes.push_back({"--recompute full", true, [](spec::Job& j) {
                         j.strategy.recompute = {Recompute::Kind::full, 0};
                       }});
  }
  if (can_shard(s)) changes.push_back({"--zero 3", false, fully_shard});
  add_other_cuts(job, changes);
  return changes;
}

/// `flags` with this zero in place of what they say of it.
std::string with_zero(const std::string& flags, int zero) {
  const std::string first = "--zero 1";
  const std::string rest = flags.starts_with(first) ? flags.substr(first.size()) : flags.empty() ? "" : ' ' + flags;
  return flag("--zero", zero) + rest;
}

/// The thrifty job with its optimizer on the host, its parameters as well where that is not enough.
std::vector<FittingChange> on_the_host(const spec::Job& job, const spec::Job& thrifty, const std::string& flags) {
  using To = spec::Offload::To;
  if (job.training.serves() || job.strategy.offload.any()) return {};
  struct Way {
    int zero;
    To parameters;
  };
  for (const Way& way : {Way{std::max(1, thrifty.strategy.zero), To::none}, {3, To::none}, {3, To::cpu}}) {
    spec::Job tried = thrifty;
    tried.strategy.zero = way.zero;
    tried.strategy.offload = {To::cpu, way.parameters, false};
    if (!fits(tried)) continue;
    return {{(way.zero == job.strategy.zero ? flags + (flags.empty() ? "" : " ") : with_zero(flags, way.zero) + ' ') +
                 "--set strategy.offload.optimizer=cpu" +
                 (way.parameters == To::cpu ? " --set strategy.offload.parameters=cpu" : ""),
             std::move(tried)}};
  }
  return {};
}

/// The thrifty changes together; where that is not enough, parameters and gradients sharded besides; and behind all
/// else what is kept on the host.
std::vector<FittingChange> all_thrift(const spec::Job& job, const std::vector<Change>& changes) {
  spec::Job thrifty = spec::unresolved(job);
  std::string flags;
  for (const Change& change : changes) {
    if (!change.thrifty) continue;
    change.apply(thrifty);
    flags += (flags.empty() ? "" : " ") + change.flags;
  }
  const auto if_it_fits = [](spec::Job tried, const std::string& with) {
    std::vector<FittingChange> out;
    if (fits(tried)) out.push_back({with, std::move(tried)});
    return out;
  };
  if (!flags.empty()) {
    if (auto out = if_it_fits(thrifty, flags); !out.empty()) return out;
  }
  if (can_shard(job.strategy)) {
    spec::Job sharded = thrifty;
    fully_shard(sharded);
    if (auto out = if_it_fits(sharded, with_zero(flags, 3)); !out.empty()) return out;
  }
  return on_the_host(job, thrifty, flags);
}

}  // namespace

std::vector<FittingChange> fitting_changes(const spec::Job& job) {
  const std::vector<Change> changes = changes_of(job);
  const spec::Job stated = spec::unresolved(job);
  std::vector<FittingChange> out, tight;
  std::set<std::string> met;
  for (const Change& change : changes) {
    if (met.contains(change.family)) continue;
    spec::Job changed = stated;
    change.apply(changed);
    const Room left = room(changed);
    if (left == Room::none) continue;
    (left == Room::tight ? tight : out).push_back({change.flags, std::move(changed)});
    if (left != Room::ample) continue;
    if (!change.family.empty()) met.insert(change.family);
    if (out.size() == kMost) break;
  }
  if (!out.empty()) return out;
  if (tight.size() > kMost) tight.resize(kMost);
  return tight.empty() ? all_thrift(job, changes) : tight;
}

std::vector<std::string> changes_that_fit(const spec::Job& job) {
  std::vector<std::string> out;
  for (FittingChange& change : fitting_changes(job)) out.push_back(std::move(change.flags));
  return out;
}

}  // namespace sim
