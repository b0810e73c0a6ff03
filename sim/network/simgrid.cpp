// sim/network/simgrid.cpp -- see simgrid.h; the module that simgrid_door.cpp loads: one Engine, on one thread, for all
// that want flows run. A pool (simgrid_pool.h) that is too small is replaced by a larger one.
// SPDX-License-Identifier: Apache-2.0
#include <cassert>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "sim/network/cargo.h"
#include "sim/network/simgrid_pool.h"
#include "sim/network/simgrid_ride.h"

namespace sim {
namespace {

// Owns the pool and runs one job after another: SimGrid's calls must all come from the thread that made the Engine.
class Worker {
 public:
  /// `job` with a pool that holds the flows.
  void run(const Fluid& fluid, const std::function<void(Pool&)>& job) {
    const std::lock_guard alone(caller_);
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
    const std::function<void()> whole = [&] { job(pool_for(fluid)); };
    job_ = &whole;
    changed_.notify_all();
    changed_.wait(lock, [this] { return job_ == nullptr; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return job_ != nullptr; });
      try {
        (*job_)();
      } catch (...) {
        failure_ = std::current_exception();
      }
      job_ = nullptr;
      changed_.notify_all();
    }
  }

  Pool& pool_for(const Fluid& fluid) {
    if (!pool_ || !pool_->holds(fluid)) {
      while (links_ < fluid.capacities.size()) links_ *= 2;
      while (hosts_ * hosts_ < 4 * fluid.flows()) hosts_ *= 2;
      pool_.reset();  // first: there may be one Engine
      pool_ = std::make_unique<Pool>(hosts_, links_);
    }
    return *pool_;
  }

  std::mutex caller_, mutex_;
  std::condition_variable changed_;
  const std::function<void()>* job_ = nullptr;
  std::exception_ptr failure_;
  std::size_t hosts_ = 64, links_ = 64;
  std::unique_ptr<Pool> pool_;
  std::thread thread_;
};

Worker& worker() {
  static Worker* const one = new Worker;  // for the life of the process: SimGrid cannot be taken down and set up
  return *one;
}

}  // namespace
}  // namespace sim

extern "C" double forerun_last_end(const sim::Fluid& fluid) {
  assert(fluid.flows() > 0);
  constexpr double kScale = 1e12;  // SimGrid's bytes are whole numbers; ours are about 1
  double end = 0;
  sim::worker().run(fluid, [&](sim::Pool& pool) {
    pool.lay(fluid, kScale);
    const double start = pool.settle();
    std::vector<sim::s4u::CommPtr> kept;  // 3.32 wants them alive to the end
    for (std::size_t f = 0; f < fluid.flows(); ++f) kept.push_back(pool.start(f, fluid.volumes[f] * kScale));
    pool.run();
    end = sim::s4u::Engine::get_clock() - start;
  });
  return end;
}

extern "C" void forerun_ride(const sim::Cargo& cargo, sim::Rider& rider) {
  sim::worker().run(cargo.fluid, [&](sim::Pool& pool) { sim::Ride(pool, cargo, rider).run(); });
}
