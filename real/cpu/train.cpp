// SPDX-License-Identifier: Apache-2.0
#include "real/cpu/train.h"

#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "real/cpu/cpu_backend.h"
#include "real/memory/planned.h"

namespace real {
namespace {

RankTrace record_step(World& world, CpuBackend& backend, Executor& executor, const plan::Plan& plan) {
  world.store->barrier("recorded step", world.patience.message);
  backend.watch().start();
  executor.step();
  backend.watch().stop();
  return recorded_step(backend.watch(), plan, world.identity.rank);
}

/// Whether the rank is the one that a Trace shows for its role.
bool shown_of(const plan::Plan& plan, int rank) {
  return plan.roles[static_cast<std::size_t>(plan.axes.stage_of(rank))].first_rank == rank;
}

/// Of the first of the ranks whose peak is highest.
void keep_highest(const plan::Plan& plan, int rank, const Ledger& ledger, MemoryUse& use) {
  const auto sum = [](const Ledger::ByCategory& bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  };
  const std::int64_t before = sum(use.measured);
  if (ledger.peak() < before || (ledger.peak() == before && rank > use.rank)) return;
  const plan::Role& role = plan.roles[static_cast<std::size_t>(plan.axes.stage_of(rank))];
  use = {rank, ledger.at_peak(), planned(plan, role).at_peak(), 0};
}

}  // namespace

Trained train_on_cpu(const spec::Job& job, const plan::Plan& plan, const Tokens& tokens, const Settings& settings,
                     int steps, const Patience& patience, const std::function<void(const Executor&)>& visit,
                     bool recorded) {
  const int ranks = plan.axes.ranks * plan.axes.stages;
  std::vector<World> worlds = in_process(ranks, patience);
  Trained out{std::vector<double>(steps, 0.0), std::vector<double>(steps, 0.0), {}, {}};
  std::map<int, RankTrace> traces;  // by role
  std::exception_ptr first;
  std::mutex guard;
  const auto run = [&](int rank) {
    World& world = worlds[rank];
    try {
      CpuBackend backend(world);
      Executor executor(job, plan, rank, backend, tokens, settings);
      for (int step = 0; step < steps; ++step) {
        if (step < 2) backend.ledger().begin_step();  // the first has learned what could have gone (values.h)
        const StepResult result = executor.step();
        const std::lock_guard lock(guard);
        out.losses[step] += result.loss;
        out.gradient_norms[step] = result.gradient_norm;
      }
      {
        const std::lock_guard lock(guard);
        keep_highest(plan, rank, backend.ledger(), out.memory);
      }
      if (recorded) {
        RankTrace trace = record_step(world, backend, executor, plan);
        const std::lock_guard lock(guard);
        if (shown_of(plan, rank)) traces.emplace(plan.axes.stage_of(rank), std::move(trace));
      }
      if (visit) {
        const std::lock_guard lock(guard);
        visit(executor);
      }
      world.store->leave(patience.finish);
    } catch (const std::exception& error) {
      {
        const std::lock_guard lock(guard);
        if (!first) first = std::current_exception();
      }
      world.store->abort(error.what());
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
  }
  if (first) std::rethrow_exception(first);
  std::vector<RankTrace> all;
  for (auto& [role, trace] : traces) all.push_back(std::move(trace));
  if (!all.empty()) out.trace = joined(std::move(all)).trace;
  return out;
}

}  // namespace real
