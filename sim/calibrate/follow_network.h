// sim/calibrate/follow_network.h -- assumed curves of links that are another curve's stay so when that one is fitted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/spec/network_calibration.h"

namespace sim {

/// Gives each curve of `now` that is not measured and had start-up, hops, ramp and own share of a curve of `before`,
/// the same collective's of another file, what became of that one; efficiencies keep their ratio. Curves of
/// `own`, "nvlink5 send", have rows, however few, and stay. Returns what followed what, a line each. REQUIRES: both
/// hold the same names.
std::vector<std::string> follow(const std::map<std::string, spec::NetworkCalibration>& before,
                                std::map<std::string, spec::NetworkCalibration>& now, const std::set<std::string>& own);

}  // namespace sim
