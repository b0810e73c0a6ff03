// core/plan/axes.h -- the groups that the ranks of a pipeline stage form. Rank numbers run tp fastest, then cp, then
// dp; experts are folded over the same ranks with expert tensor parallel fastest, then expert parallel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/spec/strategy.h"

namespace plan {

/// dp: ranks that hold the same dense parameters (the context-parallel ranks of a replica among them); shard and
/// replicate: the same ranks cut into groups that share one copy of the states, and across those groups; expert_dp:
/// ranks that hold the same experts.
enum class Axis : std::uint8_t { tp, cp, dp, shard, replicate, etp, ep, expert_dp };
inline constexpr int kAxes = 8;
inline constexpr std::array<std::string_view, kAxes> kAxisNames{"tp",        "cp",  "dp", "shard",
                                                                "replicate", "etp", "ep", "expert dp"};

/// Member i of a group is rank first + i * stride of the stage.
struct AxisShape {
  int stride = 1, size = 1;
  /// The group, among those of this axis, of the stage's `rank`-th rank.
  int group_of(int rank) const { return rank / (stride * size) * stride + rank % stride; }
};

struct Axes {
  std::array<AxisShape, kAxes> shapes;
  int ranks = 1;  // of one stage
  const AxisShape& operator[](Axis axis) const { return shapes[static_cast<int>(axis)]; }
};

/// REQUIRES: shard divides cp x dp, ep x etp divides tp x cp x dp.
Axes axes_of(const spec::Strategy&);

}  // namespace plan
