// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/memory_fit.h"

#include <cmath>

#include "sim/calibrate/least_squares.h"

namespace sim {
namespace {

constexpr base::Seconds kLeastHost = base::us(1);  // less is the fit's noise

}  // namespace

base::Seconds fit_memory(Device& device, int kind, const MeasuredRows& rows, base::Seconds smallest) {
  spec::MemoryCurve& curve = device.calibration.memory[kind];
  const bool fixed_time = rows.size() >= 3, of_host = fixed_time && smallest > kHostBound;
  base::Seconds host;
  const auto apply = [&](const std::vector<double>& x) {
    curve.efficiency = x[0];
    if (of_host)
      host = base::Seconds(x[1]);
    else if (fixed_time)
      curve.overhead = base::Seconds(x[1]);
  };
  LeastSquares problem{{{"efficiency", 0.75, 0.02, 1.2}}, {}, [&](const std::vector<double>& x) {
                         apply(x);
                         const Device cool = short_run(device);
                         std::vector<double> errors;
                         for (const config::MeasuredKernel* row : rows) {
                           errors.push_back(std::log((time_of(*row, cool, device) + host) / row->time));
                         }
                         return errors;
                       }};
  if (fixed_time) problem.unknowns.push_back({"fixed time", 5e-6, 5e-7, 1e-4});
  Minimum best = minimise(problem);
  for (double& value : best.values) value = rounded(value);
  apply(best.values);
  return host > kLeastHost ? host : base::Seconds{};
}

}  // namespace sim
