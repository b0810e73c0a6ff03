// core/plan/axes.h -- the groups that the ranks of a pipeline stage form. A rank's place in its stage runs tp fastest,
// then cp, then dp, or as strategy.rank_order says; experts are folded over the same ranks with expert tensor parallel
// fastest, then expert parallel. Where pp is not the slowest axis a stage's ranks are not neighbours.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/spec/strategy.h"

namespace plan {

/// dp: ranks that hold the same dense parameters (the context-parallel ranks of a replica among them); shard and
/// replicate: the same ranks cut into groups that share one copy of the states, and across those groups; expert_dp:
/// ranks that hold the same experts; expert_shard and expert_replicate cut those as shard and replicate cut dp, into as
/// many groups where that divides them. kv_copies: tensor-parallel ranks that hold the same heads of keys and values
/// (Context).
enum class Axis : std::uint8_t {
  tp,
  cp,
  dp,
  shard,
  replicate,
  etp,
  ep,
  expert_dp,
  expert_shard,
  expert_replicate,
  kv_copies
};
inline constexpr int kAxes = 11;
inline constexpr std::array<std::string_view, kAxes> kAxisNames{
    "tp", "cp", "dp", "shard", "replicate", "etp", "ep", "expert dp", "expert shard", "expert replicate", "kv copies"};

/// Member i of a group stands at place first + i * stride of the stage.
struct AxisShape {
  int stride = 1, size = 1;
  /// The group, among those of this axis, of the stage's `rank`-th rank.
  int group_of(int rank) const { return rank / (stride * size) * stride + rank % stride; }
};

struct Axes {
  std::array<AxisShape, kAxes> shapes;
  int ranks = 1;  // of one stage
  int stages = 1;
  int stage_stride = 0;  // rank numbers from a stage to the next; 0: all ranks of a stage, pp being slowest
  int hop() const { return stage_stride > 0 ? stage_stride : ranks; }
  int rank_of(int stage, int place) const { return place / hop() * hop() * stages + stage * hop() + place % hop(); }
  int place_of(int rank) const {
    return stage_stride > 0 ? rank / (hop() * stages) * hop() + rank % hop() : rank % ranks;
  }
  int stage_of(int rank) const { return stage_stride > 0 ? rank / hop() % stages : rank / ranks; }
  /// Between members of a group in rank numbers.
  int rank_stride(Axis axis) const { return (*this)[axis].stride * ((*this)[axis].stride < hop() ? 1 : stages); }
  const AxisShape& operator[](Axis axis) const { return shapes[static_cast<int>(axis)]; }
};

/// REQUIRES: shard divides cp x dp, ep x etp divides tp x cp x dp; spec::rank_order_faults() has none.
Axes axes_of(const spec::Strategy&);

}  // namespace plan
