// core/result/scaling.h -- the answer of `forerun scale`: one job on more and more GPUs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/comparison.h"

namespace result {

/// strong: the global batch stays; weak: it grows with the GPUs.
enum class ScalingKind { strong, weak };

constexpr std::string_view name(ScalingKind kind) { return kind == ScalingKind::strong ? "strong" : "weak"; }

struct ScalingPoint {
  int gpus = 0;
  int global_batch = 0;  // sequences; 0: refused
  ComparisonRow row;
  double efficiency = 0;  // tokens a second and GPU, over those of the curve's reference; 0: refused
};

/// Where efficiency falls under what was asked for.
struct ScalingFall {
  int above = 0, below = 0;  // neighbouring points, in GPUs
  double gpus = 0;           // between them, on a straight line over the logarithm of the GPUs
};

struct ScalingCurve {
  ScalingKind kind = ScalingKind::strong;
  std::vector<ScalingPoint> points;  // by GPUs
  int reference_gpus = 0;            // the fewest on which it fits; where it fits on none, that run it; 0: none does
  std::optional<ScalingFall> falls;
};

struct Scaling {
  std::string job;        // one line: the job as it was given
  bool searched = false;  // each point with its own best strategy
  double efficiency = 0;  // under which the fall is told
  std::vector<ScalingCurve> curves;
  std::vector<std::string> notes = {};
};

}  // namespace result
