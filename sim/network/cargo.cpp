// SPDX-License-Identifier: Apache-2.0
#include "sim/network/cargo.h"

#include <algorithm>
#include <numeric>

#include "sim/network/simgrid.h"

namespace sim {

Cargo stowed(const Fluid& fluid, int sets) {
  const Fluid alike = folded(fluid);
  std::vector<std::size_t> order(alike.flows());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return alike.kinds[a] < alike.kinds[b]; });
  Cargo out;
  out.fluid.capacities = alike.capacities;
  out.begin.assign(static_cast<std::size_t>(sets) + 1, 0);
  for (const std::size_t f : order) {
    const auto first = alike.routes.begin();
    out.fluid.add(alike.volumes[f], {first + static_cast<std::ptrdiff_t>(alike.starts[f]),
                                     first + static_cast<std::ptrdiff_t>(alike.starts[f + 1])});
    ++out.begin[static_cast<std::size_t>(alike.kinds[f]) + 1];
  }
  std::partial_sum(out.begin.begin(), out.begin.end(), out.begin.begin());
  return out;
}

void SimGridCarrier::run(Rider& rider) const { ride(cargo_, rider); }

}  // namespace sim
