// SPDX-License-Identifier: Apache-2.0
#include "real/executor/place.h"

#include <algorithm>
#include <cassert>

namespace real {

using plan::Axis;
using Kind = plan::Channel::Kind;

int Place::coordinate(Axis axis) const {
  const plan::AxisShape& shape = plan_.axes[axis];
  return place() / shape.stride % shape.size;
}

int Place::replica() const {
  const int both = coordinate(Axis::dp);
  if (c_.cp == 1) return both;
  const bool context_is_faster = plan_.axes[Axis::cp].stride == plan_.axes[Axis::dp].stride;
  return context_is_faster ? both / c_.cp : both % c_.dp;
}

Group Place::group_of(Axis axis, int channel) const {
  const plan::AxisShape& shape = plan_.axes[axis];
  const int self = coordinate(axis), first = place() - self * shape.stride;
  Group group{{}, self, channel};
  for (int i = 0; i < shape.size; ++i) group.ranks.push_back(plan_.axes.rank_of(stage(), first + i * shape.stride));
  return group;
}

Group Place::group(int number) const {
  const plan::Channel& channel = plan_.channels[number];
  if (channel.kind == Kind::group) return group_of(channel.axis, number);
  Group group{{}, 0, number};
  if (channel.kind == Kind::stages) {
    for (int s = 0; s < plan_.axes.stages; ++s) group.ranks.push_back(neighbour(s));
  } else if (channel.kind == Kind::embedding || channel.kind == Kind::copies) {
    group.ranks = {neighbour(channel.from), neighbour(channel.to)};
  } else {
    assert(channel.kind == Kind::model);
    group.ranks = model_ranks();
  }
  group.self = static_cast<int>(std::find(group.ranks.begin(), group.ranks.end(), rank_) - group.ranks.begin());
  return group;
}

std::vector<int> Place::model_ranks() const {
  std::vector<int> out;
  const int ranks = plan_.axes.ranks * plan_.axes.stages;
  for (int rank = 0; rank < ranks; ++rank) {
    if (c_.model_group.size == ranks || of(rank).coordinate(Axis::dp) == coordinate(Axis::dp)) out.push_back(rank);
  }
  return out;
}

std::int64_t Place::first_sequence(int microbatch, int chunk) const {
  // The two directions of a schedule of two copies number their microbatches apart.
  const std::int64_t of_direction = c_.placement.two_copies() ? c_.microbatches / 2 : 0;
  return (replica() * c_.microbatches + chunk * of_direction + microbatch) * c_.batch;
}

}  // namespace real
