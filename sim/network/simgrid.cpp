// sim/network/simgrid.cpp -- see simgrid.h; the module that simgrid_door.cpp loads. SimGrid's platform is sealed once
// it runs, so it is a pool: hosts in one star, links whose bandwidth is set for each run, and a bypass route between a
// fresh pair of hosts for every new list of links. Runs of like structure use the same pairs again. A pool that is too
// small is replaced by a larger one.
//
// Settings, each of which spoils results by its default: network/model LV08 scales bandwidths and latencies,
// network/crosstraffic lets a flow load the way back, network/TCP-gamma caps rates by latency, and the precision
// (renamed in 3.34) merges events 10 us apart.
// SPDX-License-Identifier: Apache-2.0
#include <simgrid/s4u.hpp>

#include <simgrid/version.h>  // after s4u.hpp, whose macros 3.32's needs

#include <cassert>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/network/fluid.h"

namespace sim {
namespace {

namespace s4u = simgrid::s4u;

class Pool {
 public:
  Pool(std::size_t hosts, std::size_t links) {
    std::vector<std::string> words {
      "forerun",
#if SIMGRID_VERSION >= 33600
          "--cfg=network/model:raw",
#else
          "--cfg=network/model:CM02",
#endif
          "--cfg=network/crosstraffic:0",
#if SIMGRID_VERSION < 33600
          "--cfg=network/TCP-gamma:0",
#endif
#if SIMGRID_VERSION >= 33400
          "--cfg=precision/timing:1e-9", "--cfg=precision/work-amount:1e-6",
#else
          "--cfg=surf/precision:1e-9", "--cfg=maxmin/precision:1e-6",
#endif
          "--log=root.thres:critical"
    };
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    engine_ = new s4u::Engine(&count, arguments.data());
#if SIMGRID_VERSION >= 40000
    zone_ = engine_->get_netzone_root()->add_netzone_star("pool");
    const auto host = [&](const std::string& name) { return zone_->add_host(name, 1.0); };
    const auto link = [&](const std::string& name) { return zone_->add_link(name, 1.0); };
#else
    zone_ = s4u::create_star_zone("pool");
    const auto host = [&](const std::string& name) { return zone_->create_host(name, 1.0); };
    const auto link = [&](const std::string& name) { return zone_->create_link(name, 1.0); };
#endif
    for (std::size_t i = 0; i < hosts; ++i) hosts_.push_back(host("h" + std::to_string(i))->seal());
    for (std::size_t i = 0; i < links; ++i) links_.push_back(link("l" + std::to_string(i))->seal());
    zone_->seal();
  }
  ~Pool() { delete engine_; }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  bool holds(const Fluid& fluid) const {
    return fluid.capacities.size() <= links_.size() && pairs_.size() + fluid.flows() <= hosts_.size() * hosts_.size();
  }

  double run(const Fluid& fluid) {
    for (std::size_t l = 0; l < fluid.capacities.size(); ++l) {
      if (fluid.capacities[l] > 0) links_[l]->set_bandwidth(fluid.capacities[l] * kScale);
    }
    const double start = s4u::Engine::get_clock();
    std::vector<s4u::CommPtr> kept;  // 3.32 wants them alive to the end
    kept.reserve(fluid.flows());
    std::vector<int> route;
    for (std::size_t f = 0; f < fluid.flows(); ++f) {
      const auto first = fluid.routes.begin();
      route.assign(first + static_cast<std::ptrdiff_t>(fluid.starts[f]),
                   first + static_cast<std::ptrdiff_t>(fluid.starts[f + 1]));
      const std::size_t pair = pair_of(route);
      const auto bytes = static_cast<std::uint64_t>(fluid.volumes[f] * kScale + 0.5);
      kept.push_back(s4u::Comm::sendto_async(hosts_[pair / hosts_.size()], hosts_[pair % hosts_.size()], bytes));
    }
    engine_->run();
    return s4u::Engine::get_clock() - start;
  }

 private:
  static constexpr double kScale = 1e12;  // SimGrid's bytes are whole numbers; ours are about 1

  std::size_t pair_of(const std::vector<int>& route) {
    const auto [at, fresh] = pairs_.try_emplace(route, pairs_.size());
    if (fresh) {
      std::vector<s4u::LinkInRoute> links;
      for (int l : route) links.emplace_back(links_[static_cast<std::size_t>(l)]);
      zone_->add_bypass_route(hosts_[at->second / hosts_.size()]->get_netpoint(),
                              hosts_[at->second % hosts_.size()]->get_netpoint(), nullptr, nullptr, links);
    }
    return at->second;
  }

  s4u::Engine* engine_ = nullptr;
  s4u::NetZone* zone_ = nullptr;
  std::vector<s4u::Host*> hosts_;
  std::vector<s4u::Link*> links_;
  std::map<std::vector<int>, std::size_t> pairs_;  // of hosts, by the links between them
};

// Owns the pool and runs one job after another: SimGrid's calls must all come from the thread that made the Engine.
class Worker {
 public:
  double last_end(const Fluid& fluid) {
    const std::lock_guard alone(caller_);
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
    job_ = &fluid;
    changed_.notify_all();
    changed_.wait(lock, [this] { return job_ == nullptr; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return answer_;
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return job_ != nullptr; });
      try {
        answer_ = run(*job_);
      } catch (...) {
        failure_ = std::current_exception();
      }
      job_ = nullptr;
      changed_.notify_all();
    }
  }

  double run(const Fluid& fluid) {
    if (!pool_ || !pool_->holds(fluid)) {
      while (links_ < fluid.capacities.size()) links_ *= 2;
      while (hosts_ * hosts_ < 4 * fluid.flows()) hosts_ *= 2;
      pool_.reset();  // first: there may be one Engine
      pool_ = std::make_unique<Pool>(hosts_, links_);
    }
    return pool_->run(fluid);
  }

  std::mutex caller_, mutex_;
  std::condition_variable changed_;
  const Fluid* job_ = nullptr;
  double answer_ = 0;
  std::exception_ptr failure_;
  std::size_t hosts_ = 64, links_ = 64;
  std::unique_ptr<Pool> pool_;
  std::thread thread_;
};

}  // namespace
}  // namespace sim

extern "C" double forerun_last_end(const sim::Fluid& fluid) {
  using sim::Worker;
  assert(fluid.flows() > 0);
  static Worker* const worker = new Worker;  // for the life of the process: SimGrid cannot be taken down and set up
  return worker->last_end(fluid);
}
