// sim/calibrate/curve_fit.h -- curves from measured collectives: the prices of closed_form.h are drawn to them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/base/units.h"
#include "core/plan/work.h"
#include "core/spec/cluster.h"

namespace sim {

using FittedCurve = spec::PathCurve spec::NetworkCalibration::*;

/// The curves that the price of this collective may run by. `multicast`: switches reduce.
std::vector<FittedCurve> curves_of(plan::CollectiveKind, const spec::NetworkCalibration&, bool fabric, bool multicast);

struct FitRow {
  plan::Collective work;
  base::Seconds time;  // above zero
};

/// Which curves of a cluster are free: some of its links', or some of its fabric's.
struct FitTarget {
  bool fabric = false;
  std::vector<FittedCurve> curves;
};

struct FitQuality {
  double residual = 0;          // root mean square of log(predicted / measured)
  double median_abs_error = 0;  // of the time
  bool at_bound = false;        // an efficiency went to the highest that a file may state
};

/// Changes efficiency, latency, ramp and those of the low-latency protocols of the free curves so that price() meets
/// the rows; hops, too, where rows differ in their number of steps. What rows cannot tell (own share, decay) stays.
/// Minimises the robust loss of log(predicted / measured) (least_squares.h) from two starts, with a weak pull, robust
/// as a row's, of every constant to where it stood, so that one that no row depends on stays there. Deterministic.
/// REQUIRES: rows and curves are not empty; every free curve is offered.
FitQuality fit(spec::Cluster&, const FitTarget&, const std::vector<FitRow>&);

}  // namespace sim
