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
#include <optional>
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

/// The links that flows cross, numbered from 0 as they are first met.
class Crossed {
 public:
  /// Capacities are in units of `unit`. The wires must outlive it.
  Crossed(const Wires&, base::ByteRate unit);
  /// Of one flow, in order; calls add(capacity) for each link that is new. Valid until the next call.
  template <class Add>
  const std::vector<int>& links_of(const Flow& flow, Add add) {
    route_.clear();
    wires_.route(flow.source, flow.target, route_);
    for (Wires::Link& link : route_) {
      int& number = number_[static_cast<std::size_t>(link)];
      if (number < 0) {
        number = count_++;
        add(wires_.capacity(link) / unit_);
      }
      link = number;
    }
    return route_;
  }

 private:
  const Wires& wires_;
  base::ByteRate unit_;
  std::vector<int> number_;  // of a link; -1: not crossed yet
  int count_ = 0;
  std::vector<Wires::Link> route_;
};

/// Puts flows on the links that they cross.
class Piping {
 public:
  /// As Crossed.
  Piping(const Wires& wires, base::ByteRate unit) : crossed_(wires, unit) {}
  void add(const Flow&, double volume);

  Fluid fluid;

 private:
  Crossed crossed_;
};

/// The flows on the links that they cross, in units of `unit` for capacities.
Fluid fluid_of(const Traffic&, const Wires&, base::ByteRate unit);

/// last_end_by_bounds() of that fluid, which is not made: a hundred thousand GPUs have a million crossings.
std::optional<double> last_end_by_bounds(const Traffic&, const Wires&, base::ByteRate unit);

}  // namespace sim
