// sim/cost/power.cpp -- the power law; see the header.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/power.h"

#include <algorithm>
#include <cmath>

#include "core/base/normal.h"

namespace sim {
namespace {

constexpr double kWhisker = 2.698;  // of a normal distribution: the upper quartile and 1.5 interquartile ranges

}  // namespace

double sustained_pace(const Device& device) {
  const spec::PowerState& state = device.calibration.power;
  const bool known = state.power.si() > 0 && device.gpu.power.si() > 0;
  const double moved = known ? std::pow(device.gpu.power / state.power, state.exponent) : 1.0;
  return std::min(1.0, state.sustained * moved);
}

double slowest_board(const spec::PowerState& state, int boards) {
  return 1 + state.spread * std::min(kWhisker, base::expected_maximum(boards));
}

Device slowest_of(const spec::Node& node, int boards) {
  return {node.gpu, node.calibration, slowest_board(node.calibration.power, boards)};
}

}  // namespace sim
