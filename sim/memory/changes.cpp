// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/changes.h"

#include <cstdint>
#include <utility>

namespace sim {

using spec::Recompute;

std::string flag(const char* name, long long value) { return std::string(name) + ' ' + std::to_string(value); }

void fully_shard(spec::Job& job) { job.strategy.zero = 3; }

bool can_shard(const spec::Strategy& s) { return s.zero < 3 && s.data() * s.cp > 1; }

void sync_each(spec::Job& job) {
  spec::Strategy& s = job.strategy;
  s.fsdp_given = s.sync_given = s.fsdp.sync_each_microbatch = true;
}

namespace {

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

/// Keys and values of a byte each where they have two, on GPUs that compute so.
void add_narrow_cache(const spec::Job& job, std::vector<Change>& changes) {
  const spec::Training& t = job.training;
  const bool kept = t.mode == spec::Mode::decode || t.mode == spec::Mode::prefill;
  if (!kept || t.kv_cache_dtype || !job.cluster.node.gpu.computes(spec::Dtype::fp8)) return;
  changes.push_back(
      {"--set training.kv_cache_dtype=fp8", true, [](spec::Job& j) { j.training.kv_cache_dtype = spec::Dtype::fp8; }});
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
                           if (sp) j.strategy.sp = j.strategy.sp_given = true;
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

}  // namespace

std::vector<Change> changes_of(const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  std::vector<Change> changes;
  const bool trains = !job.training.serves();
  if (trains && s.zero == 0 && s.data() * s.cp > 1)
    changes.push_back({"--zero 1", true, [](spec::Job& j) { j.strategy.zero = 1; }});
  if (trains && s.zero < 2 && can_shard(s))
    changes.push_back({"--zero 2", false, [](spec::Job& j) { j.strategy.zero = 2; }});
  add_narrow_cache(job, changes);
  add_wider_experts(job, changes);
  if (s.tp > 1 && !s.sp)
    changes.push_back({"--sp", true, [](spec::Job& j) { j.strategy.sp = j.strategy.sp_given = true; }});
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

}  // namespace sim
