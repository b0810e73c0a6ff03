// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/islands.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace sim {
namespace {

/// Sets of instances that grow together: a union-find with path halving.
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count), size_(count, 1) { std::iota(parent_.begin(), parent_.end(), 0); }

  std::int32_t root(std::int32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::int32_t a, std::int32_t b, int largest) {
    a = root(a);
    b = root(b);
    if (a == b || size_[a] + size_[b] > largest) return;
    parent_[b] = a;
    size_[a] += size_[b];
  }

 private:
  std::vector<std::int32_t> parent_, size_;
};

/// Channels, the one with most meetings in a step of all roles first.
std::vector<std::int32_t> busiest_first(const EngineInput& in) {
  const std::size_t channels = in.plan->channels.size();
  std::vector<std::int64_t> calls(in.plan->segments.size()), uses(channels);
  for (const plan::Role& role : in.plan->roles) {
    for (const plan::Call& call : role.calls) ++calls[call.segment];
  }
  for (std::size_t segment = 0; segment < calls.size(); ++segment) {
    for (std::int32_t at = in.segment_begin[segment]; at < in.segment_begin[segment + 1]; ++at) {
      if (in.steps[at].channel >= 0) uses[in.steps[at].channel] += calls[segment];
    }
  }
  std::vector<std::int32_t> order(channels);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return uses[a] > uses[b]; });
  return order;
}

Islands whole(std::size_t instances) {
  Islands out{.of = std::vector<std::int32_t>(instances, 0),
              .order = std::vector<std::int32_t>(instances),
              .begin = {0, static_cast<std::int32_t>(instances)}};
  std::iota(out.order.begin(), out.order.end(), 0);
  return out;
}

}  // namespace

Islands islands_of(const EngineInput& in, int largest) {
  const std::size_t instances = in.instances.size(), channels = in.plan->channels.size();
  if (instances <= static_cast<std::size_t>(largest)) return whole(instances);
  Sets sets(instances);
  std::vector<std::int32_t> first(in.meeting_size.size(), -1);  // to come to each meeting
  for (const std::int32_t channel : busiest_first(in)) {
    for (std::size_t i = 0; i < instances; ++i) {
      const std::int32_t meeting = in.meeting_of[i * channels + channel];
      if (meeting < 0) continue;
      if (first[meeting] < 0) first[meeting] = static_cast<std::int32_t>(i);
      sets.join(first[meeting], static_cast<std::int32_t>(i), largest);
    }
  }
  Islands out{.of = std::vector<std::int32_t>(instances), .order = std::vector<std::int32_t>(instances), .begin = {0}};
  std::vector<std::int32_t> number(instances, -1);  // of each root's island
  for (std::size_t i = 0; i < instances; ++i) {
    std::int32_t& island = number[sets.root(static_cast<std::int32_t>(i))];
    if (island < 0) {
      island = static_cast<std::int32_t>(out.count());
      out.begin.push_back(0);
    }
    out.of[i] = island;
  }
  std::iota(out.order.begin(), out.order.end(), 0);
  std::stable_sort(out.order.begin(), out.order.end(),
                   [&](std::int32_t a, std::int32_t b) { return out.of[a] < out.of[b]; });
  for (const std::int32_t island : out.of) ++out.begin[island + 1];
  std::partial_sum(out.begin.begin(), out.begin.end(), out.begin.begin());
  return out;
}

}  // namespace sim
