// SPDX-License-Identifier: Apache-2.0
#include "sim/scaling.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sim {
namespace {

using result::ScalingFall;
using result::ScalingPoint;
using Status = result::ComparisonRow::Status;

bool runs(const ScalingPoint& point) { return point.row.status != Status::refused; }

/// Whose efficiency is 1; the end: none runs.
std::vector<ScalingPoint>::const_iterator reference_of(const std::vector<ScalingPoint>& points) {
  const auto fitting = std::ranges::find(points, Status::fits, [](const ScalingPoint& p) { return p.row.status; });
  return fitting != points.end() ? fitting : std::ranges::find_if(points, runs);
}

/// Efficiency is read off as a straight line over log(GPUs), as such curves are drawn.
ScalingFall fall_between(const ScalingPoint& above, const ScalingPoint& below, double threshold) {
  const double way = (above.efficiency - threshold) / (above.efficiency - below.efficiency);
  const double gpus = above.gpus * std::pow(static_cast<double>(below.gpus) / above.gpus, way);
  return {above.gpus, below.gpus, gpus};
}

}  // namespace

result::ScalingCurve scaling_curve(result::ScalingKind kind, std::vector<ScalingPoint> points, double threshold) {
  result::ScalingCurve out{.kind = kind, .points = std::move(points), .reference_gpus = 0, .falls = {}};
  const auto reference = reference_of(out.points);
  if (reference == out.points.end()) return out;
  out.reference_gpus = reference->gpus;
  const double all = reference->row.prediction.tokens_per_s_per_gpu;
  const ScalingPoint* before = nullptr;
  for (ScalingPoint& point : out.points) {
    if (!runs(point)) continue;
    point.efficiency = point.row.prediction.tokens_per_s_per_gpu / all;
    if (point.gpus < out.reference_gpus) continue;
    const bool is_under = point.efficiency < threshold;
    if (is_under && before && !out.falls) out.falls = fall_between(*before, point, threshold);
    before = is_under ? nullptr : &point;
  }
  return out;
}

}  // namespace sim
