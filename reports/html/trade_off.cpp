// SPDX-License-Identifier: Apache-2.0
#include "reports/html/trade_off.h"

#include <algorithm>
#include <tuple>

namespace reports::html {

std::vector<TradePoint> front_of(std::vector<TradePoint> points) {
  if (std::any_of(points.begin(), points.end(), [](const TradePoint& point) { return point.fits; })) {
    std::erase_if(points, [](const TradePoint& point) { return !point.fits; });
  }
  std::stable_sort(points.begin(), points.end(), [](const TradePoint& a, const TradePoint& b) {
    return std::tie(a.time_s, a.bytes) < std::tie(b.time_s, b.bytes);
  });
  std::vector<TradePoint> front;
  for (const TradePoint& point : points) {
    if (front.empty() || point.bytes < front.back().bytes) front.push_back(point);
  }
  return front;
}

Chart chart_of(const TradeOff& trade) {
  if (trade.points.size() < 2) return {};
  Table table{"Time and memory",
              {{"label", "Strategy"}, {"kind", "Status"}, {"time", "Step time", true}, {"memory", "Peak memory", true}},
              {}};
  for (const TradePoint& point : trade.points) {
    table.rows.push_back({text(point.label), text(point.kind), quantity(point.time_s, "s"), bytes(point.bytes)});
  }
  Json front = Json::array();
  for (const TradePoint& point : front_of(trade.points))
    front.push_back({{"time", point.time_s}, {"memory", point.bytes}});
  return {"pareto",
          "Step time against peak memory.",
          "Towards the lower left is better; the line joins those that fit and that no other beats in both. "
          "Dashed: what a GPU has.",
          table,
          {{"limit", trade.capacity_bytes}},
          {{"front", front}}};
}

}  // namespace reports::html
