// tests/sim/network/max_min.h -- the plain oracle of fluid flows: progressive filling, again after each end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "sim/network/fluid.h"

namespace oracle {

/// Max-min rates of the flows that still have something to move: raise all alike until a link is full, fix the flows
/// that cross it, go on with the others (Bertsekas, Gallager, "Data Networks", 6.5.2).
inline std::vector<double> rates(const sim::Fluid& fluid, const std::vector<double>& left) {
  const double never = std::numeric_limits<double>::infinity();
  std::vector<double> rate(left.size(), 0), room = fluid.capacities;
  std::vector<bool> fixed(left.size());
  for (std::size_t f = 0; f < left.size(); ++f) fixed[f] = left[f] <= 0;
  for (;;) {
    std::vector<double> users(room.size(), 0);
    for (std::size_t f = 0; f < left.size(); ++f) {
      for (std::size_t i = fluid.starts[f]; i < fluid.starts[f + 1] && !fixed[f]; ++i) users[fluid.routes[i]] += 1;
    }
    double share = never;
    for (std::size_t l = 0; l < room.size(); ++l) {
      if (users[l] > 0) share = std::min(share, room[l] / users[l]);
    }
    if (share == never) return rate;
    const std::vector<double> before = room;
    for (std::size_t f = 0; f < left.size(); ++f) {
      if (fixed[f]) continue;
      bool full = false;
      for (std::size_t i = fluid.starts[f]; i < fluid.starts[f + 1]; ++i) {
        full |= before[fluid.routes[i]] / users[fluid.routes[i]] <= share * (1 + 1e-12);
      }
      if (!full) continue;
      rate[f] = share;
      fixed[f] = true;
      for (std::size_t i = fluid.starts[f]; i < fluid.starts[f + 1]; ++i) room[fluid.routes[i]] -= share;
    }
  }
}

inline double last_end(const sim::Fluid& fluid) {
  std::vector<double> left = fluid.volumes;
  for (double now = 0;;) {
    const std::vector<double> rate = rates(fluid, left);
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t f = 0; f < left.size(); ++f) {
      if (rate[f] > 0) step = std::min(step, left[f] / rate[f]);
    }
    if (step == std::numeric_limits<double>::infinity()) return now;
    now += step;
    for (std::size_t f = 0; f < left.size(); ++f) {
      left[f] -= rate[f] * step;
      if (left[f] < 1e-12 * fluid.volumes[f]) left[f] = 0;
    }
  }
}

}  // namespace oracle
