// sim/network/flow.h -- rates at which flows of all groups of an axis run together on the fabric (fidelity flow).
//
// The flows of sim/network/traffic.h start at once on the links of sim/network/wires.h; the last to end tells the rate
// that an algorithm keeps: what its busiest island sends over that time. The closed form then prices with this rate in
// place of its own, so latency, efficiency, ramp and decay are the same, and so is the price where nothing contends.
// A rate does not depend on bytes and is worked out once for each pattern and group shape.
// Leaves out: other axes at the same time; rates of a ring's hops that end early (the slowest hop rules).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "sim/network/fluid.h"
#include "sim/network/path.h"
#include "sim/network/traffic.h"
#include "sim/network/wires.h"

namespace sim {

/// Not for two threads at once. REQUIRES: has_simgrid().
class FlowPaths final : public Paths {
 public:
  explicit FlowPaths(const spec::Cluster& cluster, const spec::Outages& outages = {})
      : Paths(cluster, outages), wires_(cluster, outages), uneven_(outages.any() || wires_.uneven()) {}
  base::ByteRate inside(const plan::GroupShape&, int members, bool over_nvlink) const override;
  base::ByteRate between(const plan::GroupShape&, int members, Pattern) const override;

 private:
  base::ByteRate rate(const Traffic&) const;

  Wires wires_;
  bool uneven_;  // switches differ, so that no period of them stands for the others
  mutable std::map<std::pair<Pattern, plan::GroupShape>, base::ByteRate> between_;
  mutable std::map<plan::GroupShape, base::ByteRate> inside_;
};

/// Puts flows on the links that they cross, which get their numbers in the fluid as they are first met.
class Piping {
 public:
  /// Capacities are in units of `unit`. The wires must outlive it.
  Piping(const Wires&, base::ByteRate unit);
  void add(const Flow&, double volume);

  Fluid fluid;

 private:
  const Wires& wires_;
  base::ByteRate unit_;
  std::vector<int> number_;  // of a link; -1: not crossed yet
  std::vector<Wires::Link> route_;
};

/// The flows on the links that they cross, in units of `unit` for capacities.
Fluid fluid_of(const Traffic&, const Wires&, base::ByteRate unit);

}  // namespace sim
