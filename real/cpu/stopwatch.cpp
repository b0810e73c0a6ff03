// SPDX-License-Identifier: Apache-2.0
#include "real/cpu/stopwatch.h"

#include <chrono>

#include "real/measure/instances.h"

namespace real {
namespace {

std::uint64_t now_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace

void Stopwatch::begun() {
  if (!on_) return;
  const auto number = static_cast<std::uint32_t>(records_.device.size() + 1);
  const std::uint64_t now = now_ns();
  records_.owners.push_back({number, number});
  records_.device.push_back({.start_ns = now, .end_ns = now, .correlation = number, .name = "operator"});
}

void Stopwatch::ended() {
  if (on_ && !records_.device.empty()) records_.device.back().end_ns = now_ns();
}

RankTrace recorded_step(const Stopwatch& watch, const plan::Plan& plan, int rank) {
  const plan::Role& role = plan.roles[static_cast<std::size_t>(plan.axes.stage_of(rank))];
  const Records& records = watch.records();
  const std::uint64_t start = records.device.empty() ? 0 : records.device.front().start_ns;
  return {start, measured(records, instances_of(plan, role), frame_of(plan, rank, role.stage))};
}

}  // namespace real
