// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/held_back.h"

#include <algorithm>
#include <variant>

namespace sim {
namespace {

std::int64_t gathered_forward(const plan::Plan& plan, const plan::Segment& segment) {
  std::int64_t bytes = 0;
  for (const plan::Operator& op : segment.operators) {
    if (op.stream != plan::Stream::tp || op.phase != plan::Phase::forward) continue;
    const auto* work = std::get_if<plan::Collective>(&plan.works[op.work]);
    if (work && work->kind == plan::CollectiveKind::all_gather) bytes += work->bytes;
  }
  return bytes;
}

bool in_optimizer(const plan::Plan& plan, const plan::Role& role, const MemoryPeak& peak) {
  if (peak.call < 0 || peak.op < 0) return false;
  return plan.segments[role.calls[peak.call].segment].operators[peak.op].phase == plan::Phase::optimizer;
}

/// What the step takes for itself; gathers of parameters and the like go elsewhere.
std::int64_t taken_in_step(const plan::Segment& segment) {
  std::int64_t most = 0;
  for (const plan::MemoryChange& change : segment.memory) {
    const bool step = segment.operators[change.at].phase == plan::Phase::optimizer;
    if (step && change.category == plan::Category::workspace) most = std::max(most, change.bytes);
  }
  return most;
}

template <typename Of>
std::int64_t most_of_segments(const plan::Plan& plan, const plan::Role& role, const Of& of) {
  std::int64_t most = 0;
  std::int32_t seen = -1;
  for (const plan::Call& call : role.calls) {
    if (call.segment == seen) continue;  // neighbours are mostly alike
    seen = call.segment;
    most = std::max(most, of(plan.segments[call.segment]));
  }
  return most;
}

}  // namespace

std::int64_t awaiting_device(const plan::Plan& plan, const plan::Role& role, const spec::Job& job) {
  const bool waits = (plan.pp > 1 && job.framework.synchronizes_p2p) || job.strategy.zero == 3;
  const bool beside = job.strategy.overlap.tp == spec::TpOverlap::chunked;
  if (!job.framework.records_streams || waits || !beside) return 0;
  return most_of_segments(plan, role, [&](const plan::Segment& s) { return gathered_forward(plan, s); });
}

std::int64_t flat_in_step(const plan::Plan& plan, const plan::Role& role, const spec::Job& job,
                          const MemoryPeak& peak) {
  if (!job.framework.flat_workspace || in_optimizer(plan, role, peak)) return 0;
  const bool reduces = job.strategy.zero < 2 && plan.dp > 1;  // from zero 2 on buckets are counted as communication
  const auto bucket = static_cast<std::int64_t>(job.framework.gradient_bucket.si());
  const std::int64_t gradients = role.resident[static_cast<int>(plan::Category::gradients)];
  const std::int64_t reduced = reduces ? std::min(bucket, gradients) : 0;
  const std::int64_t taken = most_of_segments(plan, role, taken_in_step);
  return taken <= reduced ? reduced : reduced + taken;  // the step comes behind the reduction and may take its segment
}

}  // namespace sim
