// sim/calibrate/least_squares.h -- a few unknowns that a price function should have to meet measured times.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sim {

/// A constant to be found between `least` and `most`; a logarithmic one above zero, moved by factors.
struct Unknown {
  std::string name;
  double start = 0, least = 0, most = 0;
  bool logarithmic = true;
};

struct LeastSquares {
  std::vector<Unknown> unknowns;
  std::vector<double> weights;  // of the rows; empty: all 1
  /// log(predicted / measured) of every row for these values of the unknowns.
  std::function<std::vector<double>(const std::vector<double>&)> errors;
};

struct Minimum {
  std::vector<double> values;
  double loss = 0;
  bool at_bound(const LeastSquares& problem, std::size_t unknown) const;
};

/// Huber's loss of the errors: squares up to 0.1, straight beyond, so that few rows far off do not rule.
double robust_loss(const std::vector<double>& errors, const std::vector<double>& weights);

/// The least robust loss from the unknowns' starts, by Levenberg-Marquardt with numeric derivatives; unknowns that lie
/// at a bound and would leave it rest there. Deterministic. REQUIRES: as many rows as unknowns, starts within bounds.
/// Source: Huber, "Robust estimation of a location parameter", 1964; Marquardt, SIAM J. Appl. Math. 11(2), 1963.
Minimum minimise(const LeastSquares&);

}  // namespace sim
