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

constexpr std::size_t kMost = 4;  // changes told

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
  std::string family = {};  // of another cut over the ranks; once one of a family fits, the others only cut further
};

std::string flag(const char* name, long long value) { return std::string(name) + ' ' + std::to_string(value); }

void fully_shard(spec::Job& job) { job.strategy.zero = 3; }

const char kSyncEach[] = "--set strategy.fsdp.sync_each_microbatch=true";

void sync_each(spec::Job& job) {
  spec::Strategy& s = job.strategy;
  s.fsdp_given = s.sync_given = s.fsdp.sync_each_microbatch = true;
}

/// Gradients stay whole until the last microbatch, which only zero 3 can be told to leave.
bool sums_whole(const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  return !job.training.serves() && s.zero >= 2 && !s.fsdp.sync_each_microbatch && spec::microbatches(job) > 1;
}

void add_gradients_of_each_microbatch(const spec::Job& job, std::vector<Change>& changes) {
  if (!sums_whole(job)) return;
  if (job.strategy.zero == 3) {
    changes.push_back({kSyncEach, true, sync_each});
  } else {
    changes.push_back({std::string("--zero 3 ") + kSyncEach, false, [](spec::Job& j) {
                         fully_shard(j);
                         sync_each(j);
                       }});
  }
}

/// Without fp32 logits, which a loss by chunks of tokens never has whole: worth the change where they are a large part.
void add_loss_by_chunks(const spec::Job& job, std::vector<Change>& changes) {
  constexpr double kLarge = 1.0 / 32;  // of a GPU's memory
  const spec::Strategy& s = job.strategy;
  if (job.training.serves() || s.linear_cross_entropy || job.framework.compiles) return;
  const auto tokens = static_cast<double>(job.training.micro_batch * job.training.sequence / s.cp);
  const double logits = 4 * tokens * static_cast<double>(job.model.vocab);
  if (logits < kLarge * job.cluster.node.gpu.memory.si()) return;
  spec::Job changed = spec::unresolved(job);
  changed.strategy.linear_cross_entropy = true;
  if (!spec::check(changed).empty()) return;  // ranks share the vocabulary, or its kernel is told
  changes.push_back(
      {"--set strategy.linear_cross_entropy=true", true, [](spec::Job& j) { j.strategy.linear_cross_entropy = true; }});
}

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
  constexpr std::int64_t kLong = 8'192;
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
      if (!s.sp) cut("--tp", &spec::Strategy::tp, " --sp", true);  // holds less, and reduces no slower
      cut("--tp", &spec::Strategy::tp, "", false);
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
  add_loss_by_chunks(job, changes);
  add_gradients_of_each_microbatch(job, changes);
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
    bool syncs = false;
  };
  for (const Way& way : {Way{std::max(1, thrifty.strategy.zero), To::none},
                         {3, To::none},
                         {3, To::none, true},
                         {3, To::cpu},
                         {3, To::cpu, true}}) {
    if (way.syncs && thrifty.strategy.fsdp_given) continue;  // or the job says when gradients go
    spec::Job tried = thrifty;
    tried.strategy.zero = way.zero;
    tried.strategy.offload = {To::cpu, way.parameters, false};
    if (way.syncs) sync_each(tried);
    if (!fits(tried)) continue;
    return {{(way.zero == job.strategy.zero ? flags + (flags.empty() ? "" : " ") : with_zero(flags, way.zero) + ' ') +
                 "--set strategy.offload.optimizer=cpu" +
                 (way.parameters == To::cpu ? " --set strategy.offload.parameters=cpu" : "") +
                 (way.syncs ? std::string(" ") + kSyncEach : ""),
             std::move(tried)}};
  }
  return {};
}

using Some = std::vector<const Change*>;

/// Zero as the job has it, 3, or 3 with gradients sharded behind each microbatch.
enum class Sharding { as_it_is, full, full_each };

/// The job with these changes, not resolved.
FittingChange together(const spec::Job& job, const Some& changes, Sharding sharding) {
  FittingChange out{"", spec::unresolved(job)};
  for (const Change* change : changes) {
    change->apply(out.job);
    out.flags += (out.flags.empty() ? "" : " ") + change->flags;
  }
  if (sharding == Sharding::as_it_is) return out;
  fully_shard(out.job);
  out.flags = with_zero(out.flags, 3);
  if (sharding == Sharding::full) return out;
  sync_each(out.job);
  out.flags += std::string(" ") + kSyncEach;
  return out;
}

/// Where they leave room for `least`, without those that leave as much when they are left out, the dearest asked first.
std::vector<FittingChange> fewest(const spec::Job& job, Some changes, Sharding sharding, Room least) {
  FittingChange out = together(job, changes, sharding);
  const Room left = room(out.job);
  if (left < least) return {};
  for (std::size_t i = changes.size(); i-- > 0;) {
    if (changes.size() == 1 && sharding == Sharding::as_it_is) break;
    Some fewer = changes;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    FittingChange tried = together(job, fewer, sharding);
    if (room(tried.job) < left) continue;
    changes = std::move(fewer);
    out = std::move(tried);
  }
  return {std::move(out)};
}

Some thrifty_of(const std::vector<Change>& changes) {
  Some out;
  for (const Change& change : changes) {
    if (change.thrifty) out.push_back(&change);
  }
  return out;
}

/// The thrifty changes together, as many as it takes; where all are not enough, parameters and gradients sharded
/// besides.
std::vector<FittingChange> thrift(const spec::Job& job, const Some& thrifty, Room least) {
  if (!thrifty.empty()) {
    if (auto out = fewest(job, thrifty, Sharding::as_it_is, least); !out.empty()) return out;
  }
  if (!can_shard(job.strategy)) return {};
  if (auto out = fewest(job, thrifty, Sharding::full, least); !out.empty()) return out;
  return fewest(job, thrifty, Sharding::full_each, least);
}

/// And behind all else what is kept on the host.
std::vector<FittingChange> all_thrift(const spec::Job& job, const Some& thrifty) {
  if (auto out = thrift(job, thrifty, Room::tight); !out.empty()) return out;
  const FittingChange all = together(job, thrifty, Sharding::as_it_is);
  return on_the_host(job, all.job, all.flags);
}

}  // namespace

std::vector<FittingChange> fitting_changes(const spec::Job& job) {
  const std::vector<Change> changes = changes_of(job);
  const spec::Job stated = spec::unresolved(job);
  std::vector<FittingChange> ample, tight;
  bool same_cut = false, tight_same_cut = false;  // one of them keeps the job on its ranks as it is
  std::set<std::string> met;
  for (const Change& change : changes) {
    if (met.contains(change.family)) continue;
    spec::Job changed = stated;
    change.apply(changed);
    const Room left = room(changed);
    if (left == Room::none) continue;
    (left == Room::tight ? tight : ample).push_back({change.flags, std::move(changed)});
    (left == Room::tight ? tight_same_cut : same_cut) |= change.family.empty();
    if (left != Room::ample) continue;
    if (!change.family.empty()) met.insert(change.family);
    if (ample.size() == kMost) break;
  }
  const Some thrifty = thrifty_of(changes);
  if (ample.empty() && tight.empty()) return all_thrift(job, thrifty);
  const bool any_ample = !ample.empty();
  std::vector<FittingChange> out = std::move(any_ample ? ample : tight);
  if (out.size() > kMost) out.resize(kMost);
  if (any_ample ? same_cut : tight_same_cut) return out;
  // Who trains by data parallelism alone has no use for another cut.
  std::vector<FittingChange> saving = thrift(job, thrifty, any_ample ? Room::ample : Room::tight);
  if (saving.empty()) return out;
  if (out.size() == kMost) out.pop_back();
  out.push_back(std::move(saving.front()));
  return out;
}

std::vector<std::string> changes_that_fit(const spec::Job& job) {
  std::vector<std::string> out;
  for (FittingChange& change : fitting_changes(job)) out.push_back(std::move(change.flags));
  return out;
}

}  // namespace sim
