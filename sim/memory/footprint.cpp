// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/footprint.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/plan/build.h"

namespace sim {
namespace {

bool fits(const spec::Job& job) {
  if (!spec::check(job).empty()) return false;
  const auto capacity = static_cast<std::int64_t>(job.cluster.node.gpu.memory.si());
  const std::vector<Footprint> all = footprints(plan::build(job), job);
  return std::all_of(all.begin(), all.end(), [&](const Footprint& f) { return f.total() <= capacity; });
}

std::string flag(const char* name, long long value) { return std::string(name) + ' ' + std::to_string(value); }

}  // namespace

std::vector<Footprint> footprints(const plan::Plan& plan, const spec::Job& job) {
  const spec::Framework& framework = job.framework;
  // One communicator a kind of group; each pair of neighbouring stages has its own.
  const int communicators = (plan.tp > 1) + (plan.dp > 1) + (plan.pp > 1 ? 3 : 0);
  std::vector<Footprint> out;
  for (const plan::Role& role : plan.roles) {
    Footprint one;
    one.peak = peak_of(plan, role);
    const auto moving = [&](plan::Category c) { return static_cast<double>(one.peak.bytes[static_cast<int>(c)]); };
    const double dynamic =
        moving(plan::Category::activations) + moving(plan::Category::workspace) + moving(plan::Category::logits);
    one.communicators = static_cast<std::int64_t>(communicators * framework.communicator.si());
    one.reserved = static_cast<std::int64_t>(framework.context.si() + framework.fragmentation * dynamic);
    out.push_back(one);
  }
  return out;
}

std::vector<std::string> changes_that_fit(const spec::Job& job) {
  using Change = std::pair<std::string, std::function<void(spec::Job&)>>;
  const spec::Strategy& s = job.strategy;
  std::vector<Change> changes;
  if (s.zero == 0 && s.data() > 1) changes.emplace_back("--zero 1", [](spec::Job& j) { j.strategy.zero = 1; });
  if (s.tp > 1 && !s.sp) changes.emplace_back("--sp", [](spec::Job& j) { j.strategy.sp = true; });
  if (s.recompute.kind == spec::Recompute::Kind::none) {
    changes.emplace_back("--recompute selective", [](spec::Job& j) {
      j.strategy.recompute = {spec::Recompute::Kind::selective, 0};
    });
  }
  if (job.training.micro_batch > 1) {
    if (job.training.micro_batch > 3) {
      changes.emplace_back(flag("--micro-batch", job.training.micro_batch / 2),
                           [](spec::Job& j) { j.training.micro_batch /= 2; });
    }
    changes.emplace_back("--micro-batch 1", [](spec::Job& j) { j.training.micro_batch = 1; });
  }
  if (s.recompute.kind != spec::Recompute::Kind::full || s.recompute.layers > 0) {
    changes.emplace_back("--recompute full", [](spec::Job& j) {
      j.strategy.recompute = {spec::Recompute::Kind::full, 0};
    });
  }
  // Tensor parallelism over the fabric fits as well, and nobody wants its step time.
  const int reach = std::max(job.cluster.node.gpus, job.cluster.node.nvlink.domain);
  for (const int factor : {2, 4, 8}) {
    if (s.data() % factor != 0) continue;
    const int dp = s.data() / factor;
    if (s.tp * factor <= reach) {
      changes.emplace_back(flag("--tp", s.tp * factor) + ' ' + flag("--dp", dp), [=](spec::Job& j) {
        j.strategy.tp *= factor;
        j.strategy.dp = dp;
      });
    }
    if (s.vpp == 1 && s.stage_layers.empty()) {
      changes.emplace_back(flag("--pp", s.pp * factor) + ' ' + flag("--dp", dp), [=](spec::Job& j) {
        j.strategy.pp *= factor;
        j.strategy.dp = dp;
      });
    }
  }
  std::vector<std::string> out;
  for (const auto& [flags, change] : changes) {
    spec::Job changed = job;
    change(changed);
    if (fits(changed)) out.push_back(flags);
    if (out.size() == 4) break;
  }
  if (!out.empty()) return out;
  // No single change is enough: the thrifty ones together.
  spec::Job thrifty = job;
  std::string flags;
  for (const auto& [name, change] : changes) {
    if (name.starts_with("--tp") || name.starts_with("--pp") || name == "--recompute selective") continue;
    if (name.starts_with("--micro-batch") && name != "--micro-batch 1") continue;
    change(thrifty);
    flags += (flags.empty() ? "" : " ") + name;
  }
  if (!flags.empty() && fits(thrifty)) out.push_back(flags);
  return out;
}

}  // namespace sim
