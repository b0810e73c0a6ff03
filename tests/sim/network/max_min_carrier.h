// tests/sim/network/max_min_carrier.h -- the plain oracle of a carrier: rates by progressive filling, again at every
// start and end. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "sim/network/cargo.h"
#include "tests/sim/network/max_min.h"

namespace oracle {

class MaxMinCarrier final : public sim::Carrier {
 public:
  explicit MaxMinCarrier(sim::Cargo cargo) : cargo_(std::move(cargo)) {}

  void run(sim::Rider& rider) const override {
    double now = 0;  // seconds
    std::vector<Load> under_way;
    trace::Ticks due = rider.begin([&](const sim::Load& load, std::int32_t ticket) {
      Load& added = under_way.emplace_back();
      added.ticket = ticket;
      for (std::size_t f = cargo_.begin[load.set]; f < cargo_.begin[load.set + 1]; ++f) {
        added.flows.push_back(f);
        added.left.push_back(cargo_.fluid.volumes[f] * load.bytes);
      }
    });
    for (;;) {
      const auto ended = std::find_if(under_way.begin(), under_way.end(), [](const Load& load) {
        return std::all_of(load.left.begin(), load.left.end(), [](double left) { return left == 0; });
      });
      if (ended != under_way.end()) {
        const std::int32_t ticket = ended->ticket;
        under_way.erase(ended);
        due = rider.delivered(std::llround(now * trace::kTicksPerSecond), ticket);
        continue;
      }
      const std::vector<std::vector<double>> rate = rates_of(under_way);
      const double never = std::numeric_limits<double>::infinity();
      double end = never;
      for (std::size_t l = 0; l < under_way.size(); ++l) {
        for (std::size_t f = 0; f < rate[l].size(); ++f) {
          if (rate[l][f] > 0) end = std::min(end, now + under_way[l].left[f] / rate[l][f]);
        }
      }
      const double wanted = due == sim::Rider::kNoInstant ? never : static_cast<double>(due) / trace::kTicksPerSecond;
      const double then = std::max(now, std::min(end, wanted));
      if (then == never) return;
      for (std::size_t l = 0; l < under_way.size(); ++l) {
        for (std::size_t f = 0; f < rate[l].size(); ++f) {
          double& left = under_way[l].left[f];
          left -= rate[l][f] * (then - now);
          if (left <= rate[l][f] * 1e-13) left = 0;  // a tenth of a picosecond
        }
      }
      now = then;
      if (wanted <= end) due = rider.resume(due);
    }
  }

 private:
  struct Load {
    std::int32_t ticket = 0;
    std::vector<std::size_t> flows;
    std::vector<double> left;
  };

  std::vector<std::vector<double>> rates_of(const std::vector<Load>& loads) const {
    sim::Fluid active;
    active.capacities = cargo_.fluid.capacities;
    std::vector<double> left;
    for (const Load& load : loads) {
      for (std::size_t i = 0; i < load.flows.size(); ++i) {
        const auto first = cargo_.fluid.routes.begin();
        const std::size_t f = load.flows[i];
        active.add(1, {first + static_cast<std::ptrdiff_t>(cargo_.fluid.starts[f]),
                       first + static_cast<std::ptrdiff_t>(cargo_.fluid.starts[f + 1])});
        left.push_back(load.left[i]);
      }
    }
    const std::vector<double> flat = rates(active, left);
    std::vector<std::vector<double>> out;
    auto next = flat.begin();
    for (const Load& load : loads) {
      out.emplace_back(next, next + static_cast<std::ptrdiff_t>(load.flows.size()));
      next += static_cast<std::ptrdiff_t>(load.flows.size());
    }
    return out;
  }

  sim::Cargo cargo_;
};

}  // namespace oracle
