// sim/validation/interval_fit.h -- the constants of topologies/uncertainty.yaml that measured steps alone can tell, and
// how many steps of a source fall inside the interval when they are found without that source.
//
// With e = log(measured / predicted), K^2 the variance that the curves, repeats and assumptions of a row explain, and z
// the tenth of the normal distribution, each side has the least constants such that one tenth of the rows is farther
// out:
//   unmodelled u  |e - median of its source| > z sqrt(K^2 + u^2)
//   stack s       |e| > z sqrt(K^2 + u^2 + s^2)
//   a scarce part |e| > z sqrt(K^2 + u^2 + s^2 + part^2), over the rows that have it
// u and s are of the rows without scarce parts. A source counts as one from five rows on, whatever their number, so
// that a sweep does not drown a paper. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/result/interval_fit.h"
#include "core/result/validation.h"

namespace sim {

/// One measured step as the fit sees it.
struct MeasuredStep {
  int source = 0;
  double error = 0;                      // log(measured / predicted)
  double faster = 0, slower = 0;         // known variance of either side
  std::vector<std::string> scarce = {};  // causes of its scarce parts
};

/// Names of spec::Uncertainty's fitted constants with their values; those of scarce parts only where the rows have
/// them.
std::vector<result::FittedSpread> fit_spreads(const std::vector<MeasuredStep>&);

/// Over all files of cases that ran; each left out once.
result::IntervalFit fit_interval(const std::vector<result::ValidationFile>&);

}  // namespace sim
