// SPDX-License-Identifier: Apache-2.0
#include "sim/scaling.h"

#include <cmath>
#include <utility>

namespace sim {
namespace {

using result::ScalingFall;
using result::ScalingPoint;

bool runs(const ScalingPoint& point) { return point.row.status != result::ComparisonRow::Status::refused; }

/// Efficiency is read off as a straight line over log(GPUs), as such curves are drawn.
ScalingFall fall_between(const ScalingPoint& above, const ScalingPoint& below, double threshold) {
  const double way = (above.efficiency - threshold) / (above.efficiency - below.efficiency);
  const double gpus = above.gpus * std::pow(static_cast<double>(below.gpus) / above.gpus, way);
  return {above.gpus, below.gpus, gpus};
}

}  // namespace

result::ScalingCurve scaling_curve(result::ScalingKind kind, std::vector<ScalingPoint> points, double threshold) {
  result::ScalingCurve out{.kind = kind, .points = std::move(points), .reference_gpus = 0, .falls = {}};
  double reference = 0;
  const ScalingPoint* before = nullptr;
  for (ScalingPoint& point : out.points) {
    if (!runs(point)) continue;
    if (out.reference_gpus == 0) {
      out.reference_gpus = point.gpus;
      reference = point.row.prediction.tokens_per_s_per_gpu;
    }
    point.efficiency = point.row.prediction.tokens_per_s_per_gpu / reference;
    const bool is_under = point.efficiency < threshold;
    if (is_under && before && !out.falls) out.falls = fall_between(*before, point, threshold);
    before = is_under ? nullptr : &point;
  }
  return out;
}

}  // namespace sim
