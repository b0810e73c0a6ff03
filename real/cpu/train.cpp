// SPDX-License-Identifier: Apache-2.0
#include "real/cpu/train.h"

#include <exception>
#include <mutex>
#include <thread>

#include "real/cpu/cpu_backend.h"

namespace real {

Trained train_on_cpu(const spec::Job& job, const plan::Plan& plan, const Tokens& tokens, const Settings& settings,
                     int steps, const Patience& patience, const std::function<void(const Executor&)>& visit) {
  const int ranks = plan.axes.ranks * plan.axes.stages;
  std::vector<World> worlds = in_process(ranks, patience);
  Trained out{std::vector<double>(steps, 0.0), std::vector<double>(steps, 0.0)};
  std::exception_ptr first;
  std::mutex guard;
  const auto run = [&](int rank) {
    World& world = worlds[rank];
    try {
      CpuBackend backend(world);
      Executor executor(job, plan, rank, backend, tokens, settings);
      for (int step = 0; step < steps; ++step) {
        const StepResult result = executor.step();
        const std::lock_guard lock(guard);
        out.losses[step] += result.loss;
        out.gradient_norms[step] = result.gradient_norm;
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
  return out;
}

}  // namespace real
