// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/training/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "core/base/fault.h"
#include "real/cuda/device.h"
#include "real/gpu/gpu_backend.h"
#include "real/measure/instances.h"
#include "tests/gpu/training/gpus.h"

namespace gpus {
namespace {

void add_masters(real::Executor& executor, real::Backend& backend, Trained& out) {
  for (const real::Parameter& p : executor.state().parameters.all()) {
    if (p.frozen || !p.master) continue;
    const std::vector<double> owned = backend.download(p.master.tensor);
    tiny::place(p, owned, out.masters[{p.layer, p.name}]);
  }
}

/// Compares what the backend tells of each operator with what the GPU was given meanwhile: a profiler's records are
/// looked for, or thrown away, by that.
class Teller final : public real::Observer {
 public:
  Teller(const plan::Plan& plan, const plan::Role& role)
      : names_(plan.names), instances_(real::instances_of(plan, role)) {}

  void begun(std::uint64_t) override { before_ = activities(); }
  void ended(std::uint64_t number, bool launched) override {
    if (!before_ || launched == (activities() > before_)) return;
    const auto& name = names_[static_cast<std::size_t>(instances_.at(number - 1).what.name)];
    wrong_.insert(name + (launched ? ": told as launched, and nothing was" : ": told as idle, and was not"));
  }
  const std::set<std::string>& wrong() const { return wrong_; }

 private:
  const std::vector<std::string>& names_;
  std::vector<real::Launched> instances_;
  std::optional<std::uint64_t> before_;
  std::set<std::string> wrong_;
};

class Ranks {
 public:
  Ranks(const spec::Job& job, const Training& training)
      : job_(job),
        plan_(plan::build(job)),
        training_(training),
        worlds_(real::in_process(plan_.axes.ranks * plan_.axes.stages, {kWait, kWait, kWait})),
        tokens_(tiny::tokens(job)) {
    settings_.keeps_gradients = training.keeps_gradients;
    out_.run.losses.resize(static_cast<std::size_t>(training.steps));
    out_.run.norms.resize(static_cast<std::size_t>(training.steps));
  }

  Trained train() {
    {
      const Turns turns(training_.seed, static_cast<int>(worlds_.size()));
      std::vector<std::jthread> threads;
      for (std::size_t rank = 0; rank < worlds_.size(); ++rank) {
        threads.emplace_back([this, rank] { run(static_cast<int>(rank)); });
      }
    }
    if (!faults_.empty()) throw base::DeviceError(faults_);
    return std::move(out_);
  }

 private:
  static constexpr base::Seconds kWait = base::s(120);

  void run(int rank) {
    real::World& world = worlds_[static_cast<std::size_t>(rank)];
    try {
      const real::CurrentDevice current(rank);
      const real::Communicator everyone(world);
      real::GpuBackend backend(world, rank, everyone, real::memberships(plan::Context(job_), plan_, rank));
      try {
        run(rank, backend);
      } catch (const std::exception& error) {
        world.store->abort(error.what());
        backend.give_up();
        throw;
      }
      world.store->leave(kWait);
    } catch (const std::exception& error) {
      const std::lock_guard lock(guard_);
      faults_ += fmt::format("rank {}: {}\n", rank, error.what());
    }
  }

  void run(int rank, real::GpuBackend& backend) {
    backend.connect();
    real::Executor executor(job_, plan_, rank, backend, tokens_, settings_);
    backend.synchronize();
    Teller teller(plan_, plan_.roles[static_cast<std::size_t>(plan_.axes.stage_of(rank))]);
    if (training_.runs_captured == 0) backend.observe(&teller);
    for (int step = 0; step < training_.steps; ++step) {
      training_.before_step(rank, step);
      if (training_.runs_captured > 0 && step + 1 == training_.steps) backend.capture_next_step();
      const real::StepResult result = executor.step();
      const std::lock_guard lock(guard_);
      if (step == 0 && training_.keeps_gradients) tiny::add_gradients(executor, out_.run);
      out_.run.losses[static_cast<std::size_t>(step)] += result.loss;
      out_.run.norms[static_cast<std::size_t>(step)] = result.gradient_norm;
    }
    backend.observe(nullptr);
    for (int i = 0; i < training_.runs_captured; ++i) backend.run_captured();
    const bool on_device = !job_.strategy.offload.updates_on_host();
    const std::lock_guard lock(guard_);
    if (on_device) add_masters(executor, backend, out_);
    out_.wrongly_told.insert(teller.wrong().begin(), teller.wrong().end());
    out_.reserved = std::max(out_.reserved, backend.pool().reserved_peak());
    const auto activations = static_cast<std::size_t>(plan::Category::activations);
    out_.activations_left = std::max(out_.activations_left, backend.pool().ledger().now()[activations]);
    out_.plain_attention.insert(backend.plain_attention().begin(), backend.plain_attention().end());
    out_.experts_one_by_one.insert(backend.experts_one_by_one().begin(), backend.experts_one_by_one().end());
  }

  const spec::Job& job_;
  const plan::Plan plan_;
  const Training training_;
  std::vector<real::World> worlds_;
  const real::Tokens tokens_;
  real::Settings settings_ = tiny::settings();
  std::mutex guard_;
  Trained out_;
  std::string faults_;
};

}  // namespace

Trained train(const spec::Job& job, const Training& training) { return Ranks(job, training).train(); }

}  // namespace gpus
