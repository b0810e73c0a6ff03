// sim/network/cargo.h -- all flows that a step may put on the fabric, in sets that start together (fidelity coupled).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "sim/engine/carrier.h"
#include "sim/network/fluid.h"

namespace sim {

/// Capacities in bytes/s; volumes in bytes for each byte of a Load.
struct Cargo {
  Fluid fluid;                     // set after set
  std::vector<std::size_t> begin;  // first flow of each set, and the end

  std::size_t sets() const { return begin.size() - 1; }
};

/// Of flows whose kinds are the numbers of their sets, 0 to `sets` - 1. Alike flows are folded over all sets at once:
/// links stay alike only where they carry alike flows of every set, so that however the sets overlap in time, a class
/// of flows keeps one rate and a class of links is filled alike.
Cargo stowed(const Fluid&, int sets);

/// SimGrid carries it.
class SimGridCarrier final : public Carrier {
 public:
  /// REQUIRES: has_simgrid(); positive capacities and volumes, no empty route.
  explicit SimGridCarrier(Cargo cargo) : cargo_(std::move(cargo)) {}
  void run(Rider&) const override;
  const Cargo& cargo() const { return cargo_; }

 private:
  Cargo cargo_;
};

}  // namespace sim
