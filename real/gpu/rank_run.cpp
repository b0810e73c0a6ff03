// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/rank_run.h"

#include <algorithm>
#include <optional>

#include "real/gpu/gpu_backend.h"
#include "real/gpu/marks.h"
#include "real/launch/clock_offset.h"
#include "real/trace/measured.h"

namespace real {
namespace {

constexpr Channel kClocks = (1 << 20) + 1;                 // above the Plan's, beside the worker's
constexpr base::Seconds kBetweenReadings = base::ms(100);  // NVML's power is a mean over longer than that

/// Bytes of the card that the pool does not hold. Before the pool has given anything back.
std::int64_t beside(const DeviceFacts& device, const Pool* pool) {
  const std::int64_t taken = static_cast<std::int64_t>(device.memory.si() - free_memory().si());
  return taken - (pool != nullptr ? pool->reserved_peak() : 0);
}

struct Rank {
  World& world;
  const DeviceFacts& device;
  GpuBackend& backend;
  Marks& marks;
  Executor& executor;
  RankRun& out;

  void step() {
    world.store->check();
    const StepResult result = executor.step();
    out.losses.push_back(result.loss);
    out.gradient_norms.push_back(result.gradient_norm);
    if (out.losses.size() == 1) {
      out.beside.first_step = beside(device, &backend.pool()) - out.beside.at_start - out.beside.communicators;
    }
  }
};

void time_steps(Rank& rank, const Steps& steps, const ReadCard& read) {
  Pool& pool = rank.backend.pool();
  for (int i = 0; i < steps.warmup; ++i) {
    rank.step();
    // The first step has learned what it could have let go (real/executor/values.h); the second takes what it needs.
    if (i == 0 && steps.warmup > 1) pool.trim();
  }
  pool.ledger().begin_step();
  if (steps.captured) {
    pool.trim();  // graphs have memory of their own, which is beside what the pool keeps
    rank.world.store->barrier("captured step", rank.world.patience.message);
    rank.backend.capture_next_step();
    rank.step();
  }
  CardWatch watch(read, kBetweenReadings);
  for (int i = 0; i < steps.timed; ++i) {
    rank.world.store->barrier("step", rank.world.patience.message);
    steps.captured ? rank.backend.run_captured() : rank.step();
    rank.out.times.push_back(rank.backend.last_step());
  }
  rank.out.condition = watch.end();
  rank.out.peak = pool.ledger().at_peak();
  rank.out.reserved = pool.reserved_peak();
}

RankTrace record_step(Rank& rank, trace::Trace frame) {
  Collector collector;
  rank.marks.start_owning();
  rank.executor.step();  // the first one under a profiler is slow
  collector.take();
  const HostClock clock = host_clock();
  const ClockOffset before = clock_offset(rank.world, kClocks, clock);
  rank.world.store->barrier("recorded step", rank.world.patience.message);
  rank.executor.step();
  rank.marks.stop_owning();
  const ClockOffset offset = between(before, clock_offset(rank.world, kClocks, clock));
  const Records records = without_outsiders(collector.take());
  std::uint64_t start = 0;
  if (!records.device.empty()) start = std::ranges::min_element(records.device, {}, &DeviceRecord::start_ns)->start_ns;
  return {start, measured(records, rank.marks.launched(), std::move(frame)), offset.ns, offset.uncertainty_ns};
}

}  // namespace

RankRun run_rank(World& world, const spec::Job& job, const plan::Plan& plan, const DeviceFacts& device,
                 const Tokens& tokens, const Steps& steps, const ReadCard& read) {
  const int self = world.identity.rank;
  const plan::Role& role = plan.roles[static_cast<std::size_t>(plan.axes.stage_of(self))];
  Marks marks(plan, role);
  RankRun out;
  std::optional<Communicator> everyone;  // outside of what is tried: it goes when the others have been told
  std::optional<GpuBackend> made;
  try {
    out.beside.at_start = beside(device, nullptr);
    everyone.emplace(world);
    GpuBackend& backend = made.emplace(world, device.index, *everyone, memberships(plan::Context(job), plan, self));
    backend.connect();
    out.beside.communicators = beside(device, &backend.pool()) - out.beside.at_start;
    Executor executor(job, plan, self, backend, tokens, Settings{});
    backend.synchronize();
    backend.observe(&marks);
    Rank rank{world, device, backend, marks, executor, out};
    time_steps(rank, steps, read);
    if (steps.recorded) out.trace = record_step(rank, frame_of(plan, self, role.stage));
  } catch (const std::exception& error) {
    // Before the backend goes: that would wait for the others, who do not know yet.
    world.store->abort(error.what());
    const HostCall::Scope held(*world.call, "ncclCommAbort", world.patience.join);
    if (made) made->give_up();
    if (everyone) everyone->abort();
    throw;
  }
  out.plain_attention.assign(made->plain_attention().begin(), made->plain_attention().end());
  out.experts_one_by_one.assign(made->experts_one_by_one().begin(), made->experts_one_by_one().end());
  return out;
}

}  // namespace real
