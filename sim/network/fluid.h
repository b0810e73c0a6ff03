// sim/network/fluid.h -- flows that share links max-min fairly: what is solved, and how equal flows are folded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace sim {

/// Flow f moves volumes[f] over the links routes[starts[f]] to routes[starts[f + 1] - 1]; a link named twice is used
/// twice. Rates are max-min fair at every instant, and grow as others end. Units are the caller's.
struct Fluid {
  std::vector<double> capacities;         // of each link
  std::vector<double> volumes;            // of each flow
  std::vector<int> routes;                // links, flow after flow
  std::vector<std::size_t> starts = {0};  // one more than flows
  std::vector<int> kinds;                 // of each flow, or empty; those of different kinds start at different times

  std::size_t flows() const { return volumes.size(); }
  void add(double volume, const std::vector<int>& links) {
    volumes.push_back(volume);
    routes.insert(routes.end(), links.begin(), links.end());
    starts.push_back(routes.size());
  }
};

/// The same instant of the last end with far fewer flows. Flows are alike when they have one volume and kind and cross
/// alike links; links are alike when they have one capacity and carry alike flows (the coarsest equitable partition).
/// Alike flows keep one rate for ever, so all links of a class become one link of their capacity together, and as many
/// of its flows as the classes that meet on links have no common divisor for.
Fluid folded(const Fluid&);

/// The instant of the last end without running the flows, where two bounds meet: no link is done before it has carried
/// its load, and no flow ever has less than an even share of each link that it crosses, whoever else ends. They meet
/// whenever all volumes are equal.
class EndByBounds {
 public:
  /// One more link; they are numbered from 0.
  void add_link(double capacity) { links_.push_back({capacity}); }
  /// A flow over one of its links.
  void cross(std::size_t link, double volume);
  /// Nothing where the bounds do not meet.
  std::optional<double> last_end() const;

 private:
  struct Link {
    double capacity, load = 0, crossings = 0, most = 0;  // in all, flows, the largest of them
  };
  std::vector<Link> links_;
};

/// That of a fluid which is there already.
std::optional<double> last_end_by_bounds(const Fluid&);

}  // namespace sim
