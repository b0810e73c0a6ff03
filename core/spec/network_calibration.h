// core/spec/network_calibration.h -- how far real collectives stay below their links: curves per kind of path, fitted
// to measurements (topologies/calibrations/network/*.yaml, each with its sources). No row of validation/ is a
// calibration.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/base/units.h"

namespace spec {

/// A protocol that trades bandwidth for latency by flags inside the data (NCCL's LL and LL128 together).
struct LowLatency {
  double efficiency = 0;  // as PathCurve::efficiency; 0: there is none
  base::Seconds latency, hop;
};

/// One algorithm over one kind of path; see sim/network/closed_form.h for the formula.
struct PathCurve {
  double efficiency = 0.8;  // bandwidth reached at large sizes over the link's; 0: the algorithm is not offered
  base::Seconds latency;    // start-up of one collective
  base::Seconds hop;        // one more for each step of the ring, or level of the tree
  base::Bytes ramp;         // bytes a rank sends at which half of the bandwidth is reached
  double local = 0;         // cost of a byte that stays on its rank (own share, copied) over one on the wire
  double decay = 0;         // bandwidth falls as (members / 2)^-decay: domains of a fabric, ranks inside a domain
  LowLatency low_latency;
  double residual = 0.2;  // standard deviation of log(predicted / measured) over the fitted rows
  bool measured = false;  // fitted to measurements of this kind of path; false: taken from a similar one
  std::string source;     // what it was fitted to
};

/// The curve of an algorithm that a path does not offer.
inline PathCurve not_offered() {
  PathCurve none;
  none.efficiency = 0;
  return none;
}

/// Collectives inside a node (or NVLink domain), or across one kind of fabric.
struct NetworkCalibration {
  std::string name;  // empty: none; defaults are used and the report says so
  PathCurve all_reduce, all_gather, reduce_scatter, all_to_all, send;  // rings; direct sends
  PathCurve tree = not_offered();  // all-reduce by double binary trees, across a fabric
  PathCurve nvls = not_offered();  // all-reduce inside the switches (NVLink SHARP), inside a domain
  std::vector<std::string> sources;
};

}  // namespace spec
