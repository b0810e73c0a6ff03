// core/spec/network_calibration.h -- how far real collectives stay below their links: curves per kind of path, fitted
// to measurements (topologies/calibrations/network/*.yaml, each with its sources). No row of validation/ is a
// calibration.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/base/units.h"

namespace spec {

/// A protocol that trades bandwidth for latency by flags inside the data. NCCL has two: LL (a flag with every 4 bytes,
/// so at most half of the bandwidth) and LL128 (one with every 120 bytes, over NVLink and cards that keep 128 bytes
/// whole).
struct LowLatency {
  double efficiency = 0;  // as PathCurve::efficiency; 0: there is none
  base::Seconds latency, hop;
};

/// What a curve was fitted to; sizes are of plan::Collective. All zero: not told.
struct Covered {
  base::Bytes from, to;
  int fewest_ranks = 0, most_ranks = 0;
  int rows = 0;
};

inline constexpr int kShortRing = 8;  // ranks of the longest rings on one node, to which PathCurve::hop is fitted

/// One algorithm over one kind of path; see sim/network/closed_form.h for the formula.
struct PathCurve {
  double efficiency = 0.8;  // bandwidth reached at large sizes over the link's; 0: the algorithm is not offered
  base::Seconds latency;    // start-up of one collective
  base::Seconds hop;        // one more for each step of the ring, or level of the tree
  base::Seconds long_hop;   // the same of the steps that a ring has beyond those of kShortRing ranks; 0: hop
  base::Bytes ramp;         // bytes a rank sends at which half of the bandwidth is reached
  double local = 0;         // cost of a byte that stays on its rank (own share, copied) over one on the wire
  double decay = 0;         // bandwidth falls as (members / 2)^-decay: domains of a fabric, ranks inside a domain
  LowLatency low_latency;   // LL; where there is no ll128, LL and LL128 fitted as one
  LowLatency ll128;
  Covered covered;
  double residual = 0.2;  // standard deviation of log(predicted / measured) over the fitted rows
  bool measured = false;  // fitted to measurements of this kind of path; false: taken from a similar one
  std::string source;     // what it was fitted to

  bool offered() const { return efficiency > 0; }
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
  PathCurve broadcast = not_offered();  // not offered: as all_gather, which streams alike
  PathCurve tree = not_offered();       // all-reduce by double binary trees, across a fabric
  PathCurve nvls = not_offered();       // all-reduce inside the switches (NVLink SHARP), inside a domain
  PathCurve collnet = not_offered();    // all-reduce inside the fabric's switches (SHARP)
  PathCurve pat = not_offered();        // all-gather and reduce-scatter in log steps, one rank a node
  base::Seconds experts_call;  // a library's exchange of experts' tokens (DeepEP), called from PyTorch, beside that
                               // of all_to_all: sizes that the host learns, tables that say where each token goes
  std::string experts_call_source;
  std::vector<std::string> sources;
};

/// Every curve by its key in a calibration file, in the file's order, with the collective that it is for.
struct CurveName {
  const char* key;
  const char* collective;
  PathCurve NetworkCalibration::*curve;
  bool required;
};
inline constexpr CurveName kCurveNames[] = {
    {"all_reduce", "all_reduce", &NetworkCalibration::all_reduce, true},
    {"all_gather", "all_gather", &NetworkCalibration::all_gather, true},
    {"reduce_scatter", "reduce_scatter", &NetworkCalibration::reduce_scatter, true},
    {"all_to_all", "all_to_all", &NetworkCalibration::all_to_all, true},
    {"send", "send", &NetworkCalibration::send, true},
    {"broadcast", "broadcast", &NetworkCalibration::broadcast, false},
    {"tree", "all_reduce", &NetworkCalibration::tree, false},
    {"nvls", "all_reduce", &NetworkCalibration::nvls, false},
    {"collnet", "all_reduce", &NetworkCalibration::collnet, false},
    {"pat", "all_gather", &NetworkCalibration::pat, false},
};

}  // namespace spec
