// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/mends.h"

#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "core/plan/build.h"
#include "sim/memory/changes.h"
#include "sim/memory/footprint.h"
#include "sim/memory/host_footprint.h"
#include "sim/memory/tight.h"

namespace sim {
namespace {

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

bool tells(const MayTell& may, const std::string& flags) { return !may || may(flags); }

/// `flags` with this zero in place of what they say of it.
std::string with_zero(const std::string& flags, int zero) {
  const std::string first = "--zero 1";
  const std::string rest = flags.starts_with(first) ? flags.substr(first.size()) : flags.empty() ? "" : ' ' + flags;
  return flag("--zero", zero) + rest;
}

/// The thrifty job with its optimizer on the host, its parameters as well where that is not enough.
std::vector<FittingChange> on_the_host(const spec::Job& job, const spec::Job& thrifty, const std::string& flags,
                                       const MayTell& may) {
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
    std::string told =
        way.zero == job.strategy.zero ? flags + (flags.empty() ? "" : " ") : with_zero(flags, way.zero) + ' ';
    told += "--set strategy.offload.optimizer=cpu";
    if (way.parameters == To::cpu) told += " --set strategy.offload.parameters=cpu";
    if (way.syncs) told += std::string(" ") + kSyncEach;
    spec::Job tried = thrifty;
    tried.strategy.zero = way.zero;
    tried.strategy.offload = {To::cpu, way.parameters, false};
    if (way.syncs) sync_each(tried);
    if (fits(tried) && tells(may, told)) return {{std::move(told), std::move(tried)}};
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
std::vector<FittingChange> thrift(const spec::Job& job, const Some& thrifty, Room least, const MayTell& may) {
  for (const Sharding sharding : {Sharding::as_it_is, Sharding::full, Sharding::full_each}) {
    if (sharding == Sharding::as_it_is ? thrifty.empty() : !can_shard(job.strategy)) continue;
    auto out = fewest(job, thrifty, sharding, least);
    if (!out.empty() && tells(may, out.front().flags)) return out;
  }
  return {};
}

/// Another cut over the ranks with what is thrifty besides: of the first two kinds of cut that do, the least.
std::vector<FittingChange> cut_and_thrift(const spec::Job& job, const std::vector<Change>& changes, const Some& thrifty,
                                          const MayTell& may) {
  std::vector<FittingChange> out;
  std::set<std::string> kinds;
  for (const Change& change : changes) {
    const std::string kind = change.family.substr(0, change.family.find(' '));
    if (kind.empty() || kinds.contains(kind)) continue;
    Some all = thrifty;
    all.push_back(&change);
    auto found = thrift(job, all, Room::tight, may);
    if (found.empty()) continue;
    kinds.insert(kind);
    out.push_back(std::move(found.front()));
    if (out.size() == 2) break;
  }
  return out;
}

/// Where no change alone does: all that are thrifty, then another cut besides, and what is kept on the host.
std::vector<FittingChange> all_thrift(const spec::Job& job, const std::vector<Change>& changes, const Some& thrifty,
                                      const MayTell& may) {
  if (auto out = thrift(job, thrifty, Room::tight, may); !out.empty()) return out;
  std::vector<FittingChange> out = cut_and_thrift(job, changes, thrifty, may);
  const FittingChange all = together(job, thrifty, Sharding::as_it_is);
  for (FittingChange& change : on_the_host(job, all.job, all.flags, may)) out.push_back(std::move(change));
  return out;
}

}  // namespace

std::vector<FittingChange> fitting_changes(const spec::Job& job, const MayTell& may) {
  std::vector<Change> changes = changes_of(job);
  std::erase_if(changes, [&](const Change& change) { return !tells(may, change.flags); });
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
  if (ample.empty() && tight.empty()) return all_thrift(job, changes, thrifty, may);
  const bool any_ample = !ample.empty();
  std::vector<FittingChange> out = std::move(any_ample ? ample : tight);
  if (out.size() > kMost) out.resize(kMost);
  if (any_ample ? same_cut : tight_same_cut) return out;
  // Who trains by data parallelism alone has no use for another cut.
  std::vector<FittingChange> saving = thrift(job, thrifty, any_ample ? Room::ample : Room::tight, may);
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
