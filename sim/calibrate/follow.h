// sim/calibrate/follow.h -- assumed curves that are another curve's stay so when that one is fitted anew.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/spec/calibration.h"

namespace sim {

/// Gives each assumed curve of `now` that had the constants of a curve of `before` what became of that one: the same
/// constants, but ceilings and paces in the ratio they stood in (a kernel at half of another's pace), and heads of 64
/// or operands of 8 bits at a pace of their own where they had one. A curve's own file is looked through first; across
/// files only curves of one name count. Returns what followed what, a line each. REQUIRES: `before` and `now` hold the
/// same calibrations in the same order.
std::vector<std::string> follow(const std::vector<spec::Calibration>& before, std::vector<spec::Calibration>& now);

}  // namespace sim
