// sim/calibrate/collective_fit.h -- curves of one collective over one kind of path, drawn to measured rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "sim/calibrate/collective_rows.h"
#include "sim/calibrate/curve_fit.h"

namespace sim {

/// 2 from 1 MiB on, where most of a step's collectives are, 1 below.
std::vector<double> collective_weights(const PlacedRows&);

/// Draws the curves, on all clusters, to rows of one collective: its ring, and tree or NVLS with it. Only constants
/// that rows tell move: start-up needs sizes around 1 MiB, low latency small ones, hops and own share several numbers
/// of ranks, decay three; four rows for each constant, those first that rows tell best. One that goes to its bound was
/// not told: it takes the value back that it had. Starts, several, do not depend on the curves that stand there, so
/// that fitting again changes nothing. Returns the names of constants that stay.
/// REQUIRES: at least 5 rows.
std::vector<std::string> fit_collective(std::vector<spec::Cluster>&, bool fabric, const std::vector<FittedCurve>&,
                                        const PlacedRows&);

}  // namespace sim
