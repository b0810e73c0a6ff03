// sim/calibrate/networks.h -- every curve of links and fabrics, fitted to collectives that others have measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/config/collective_places.h"
#include "core/config/measured_kernels.h"
#include "core/result/calibration.h"
#include "core/spec/network_calibration.h"

namespace sim {

/// A calibration of topologies/calibrations/network; `fitted`: to be fitted to rows.
struct CalibratableNetwork {
  spec::NetworkCalibration calibration;
  bool fitted = true;
};

/// Returns all of them in the order given, and appends to the report. All rows of a collective over one kind of path
/// draw its curves together, links inside nodes first, fabrics after them. The new curves are taken where their robust
/// loss over the rows is not above that of those that stood there; fewer than 5 rows fit nothing, fewer than 100
/// no ring together with a tree or NVLS. Curves that no row
/// tells stay, but for those taken from a curve that was fitted (sim/calibrate/follow_network.h). Deterministic, and a
/// fixed point: fitting what it returned to the same rows returns the same.
std::vector<spec::NetworkCalibration> calibrate_networks(const config::KernelTables&, const std::vector<config::Place>&,
                                                         const std::vector<CalibratableNetwork>&,
                                                         result::KernelCalibration& report);

}  // namespace sim
