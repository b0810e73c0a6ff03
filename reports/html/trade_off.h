// reports/html/trade_off.h -- time against memory of several strategies, and those that nothing beats in both.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/html/chart.h"

namespace reports::html {

struct TradePoint {
  std::string label, kind;  // kind: "fits", "does not fit"
  double time_s = 0;
  std::int64_t bytes = 0;
  bool fits = true;
};

struct TradeOff {
  std::vector<TradePoint> points;
  std::int64_t capacity_bytes = 0;  // of a GPU; 0: not drawn
};

/// Those that fit, all where none does, and of which no other takes less time and memory; fastest first, equal ones
/// once.
std::vector<TradePoint> front_of(std::vector<TradePoint>);

/// Without rows where there are fewer than two points.
Chart chart_of(const TradeOff&);

}  // namespace reports::html
