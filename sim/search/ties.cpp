// SPDX-License-Identifier: Apache-2.0
#include "sim/search/ties.h"

#include <cmath>
#include <map>
#include <string>

#include "sim/analysis/interval.h"

namespace sim {
namespace {

constexpr const char* kRepeatCause = "repeats of one step";

/// Deviation of each cause: the mean of its two sides, for in a ratio either may be the slower.
std::map<std::string, double> deviations(const result::Prediction& p) {
  std::map<std::string, double> out;
  for (const result::IntervalContribution& c : p.interval_contributions) out[c.cause] += (c.faster + c.slower) / 2;
  return out;
}

bool of_its_own(const std::string& cause) { return cause == kUnmodelledCause || cause == kRepeatCause; }

}  // namespace

double deviation_of_ratio(const result::Prediction& a, const result::Prediction& b) {
  std::map<std::string, double> apart = deviations(a);
  double variance = 0;
  for (const auto& [cause, deviation] : deviations(b)) {
    if (of_its_own(cause)) {
      variance += deviation * deviation;
    } else {
      apart[cause] -= deviation;
    }
  }
  for (const auto& [cause, deviation] : apart) variance += deviation * deviation;
  return std::sqrt(variance);
}

bool tied(const result::Prediction& better, const result::Prediction& other) {
  return std::log(pace_s(other) / pace_s(better)) <= kTenth * deviation_of_ratio(better, other);
}

}  // namespace sim
