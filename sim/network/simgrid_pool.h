// sim/network/simgrid_pool.h -- part of the module simgrid.cpp. SimGrid's platform is sealed once it runs, so it is a
// pool: hosts in one star, links whose bandwidth is set for each run, and a bypass route between a fresh pair of hosts
// for every new list of links. Runs of like structure use the same pairs again.
//
// Settings, each of which spoils results by its default: network/model LV08 scales bandwidths and latencies,
// network/crosstraffic lets a flow load the way back, network/TCP-gamma caps rates by latency, and the precision
// (renamed in 3.34) merges events 10 us apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simgrid/s4u.hpp>

#include <simgrid/version.h>  // after s4u.hpp, whose macros 3.32's needs
#include <simgrid/kernel/Timer.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/network/fluid.h"

namespace sim {

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

  /// Gives the links their capacities, `scale` times, and each flow a pair of hosts for start().
  void lay(const Fluid& fluid, double scale) {
    for (std::size_t l = 0; l < fluid.capacities.size(); ++l) {
      if (fluid.capacities[l] > 0) links_[l]->set_bandwidth(fluid.capacities[l] * scale);
    }
    pair_of_flow_.clear();
    std::vector<int> route;
    for (std::size_t f = 0; f < fluid.flows(); ++f) {
      const auto first = fluid.routes.begin();
      route.assign(first + static_cast<std::ptrdiff_t>(fluid.starts[f]),
                   first + static_cast<std::ptrdiff_t>(fluid.starts[f + 1]));
      pair_of_flow_.push_back(pair_of(route));
    }
  }

  s4u::CommPtr start(std::size_t flow, double amount) {
    const std::size_t pair = pair_of_flow_[flow];
    const auto whole = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(amount + 0.5));
    return s4u::Comm::sendto_async(hosts_[pair / hosts_.size()], hosts_[pair % hosts_.size()], whole);
  }

  /// Moves the clock to a whole number in [2^26, 2^27), where doubles lie evenly, 2^-26 apart: sums and differences are
  /// then rounded alike in every run, and a run does not depend on those before it (for the first 2^26 units).
  double settle() {
    const double now = std::max(kEpoch, std::floor(s4u::Engine::get_clock()) + 1);
    simgrid::kernel::timer::Timer::set(now, [] {});
    engine_->run();
    return now;
  }

  void run() { engine_->run(); }

 private:
  static constexpr double kEpoch = 1 << 26;

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
  std::vector<std::size_t> pair_of_flow_;
};

}  // namespace sim
