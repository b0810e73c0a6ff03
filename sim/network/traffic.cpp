// sim/network/traffic.cpp -- see traffic.h.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/traffic.h"

#include <algorithm>
#include <cassert>

#include "sim/network/hops.h"

namespace sim {
namespace {

using plan::GroupShape;

// Collects the flows of one group after another and how much leaves its busiest island.
class Collector {
 public:
  explicit Collector(const Cards& cards) : cards_(cards) {}
  void begin(std::size_t islands) { leaving_.assign(islands, 0); }
  void hop(const std::vector<Run>& runs, std::size_t from, std::size_t to, double volume) {
    const Run &a = runs[from], &b = runs[to];
    const auto lanes = static_cast<std::size_t>(std::max(a.size, b.size));
    const auto whole = [&](std::size_t i) {
      return cards_.has_its_own(a.member(i)) && cards_.has_its_own(b.member(i));
    };
    // Members side by side; where some have lost their card, those that have one at both ends, if there are any.
    std::size_t left = 0;
    for (std::size_t i = 0; i < lanes && a.size == b.size; ++i) left += whole(i);
    const double share = volume / static_cast<double>(left > 0 ? left : lanes);
    for (std::size_t i = 0; i < lanes; ++i) {
      if (left == 0 || left == lanes || whole(i)) out.flows.push_back({a.member(i), b.member(i), share});
    }
    leaving_[from] += volume;
    out.busiest = std::max(out.busiest, leaving_[from]);
  }
  Traffic out;

 private:
  const Cards& cards_;
  std::vector<double> leaving_;
};

}  // namespace

Traffic traffic_between(Pattern pattern, const GroupShape& group, const spec::Cluster& cluster, const Cards& cards,
                        bool uneven) {
  assert(group.layout.ranks > 0 && group.layout.ranks <= cluster.gpus());
  const int island = cluster.node.island();
  const int ranks = ranks_to_look_at(group.layout, cluster, uneven);
  Collector out(cards);
  out.out.flows.reserve(static_cast<std::size_t>(ranks));  // a hop each, but all-to-all
  for_each_group(group, ranks, [&](int first) {
    if (pattern == Pattern::shift || pattern == Pattern::send) {
      for_each_member_hop(pattern, first, group, island, [&](int from, int to) {
        out.out.flows.push_back({from, to, 1});
      });
      out.out.busiest = 1;
      return;
    }
    const std::vector<Run> runs = runs_of(first, group, island);
    if (runs.size() < 2) return;
    out.begin(runs.size());
    for_each_hop(pattern, runs,
                 [&](std::size_t from, std::size_t to, double volume) { out.hop(runs, from, to, volume); });
  });
  return std::move(out.out);
}

Traffic traffic_inside(const GroupShape& group, const spec::Cluster& cluster) {
  assert(group.layout.ranks > 0 && group.layout.ranks <= cluster.gpus());
  const int island = cluster.node.island();
  Traffic out;
  for_each_group(group, ranks_to_look_at(group.layout, island), [&](int first) {
    for (const Run& run : runs_of(first, group, island)) {
      const auto size = static_cast<std::size_t>(run.size);
      for (std::size_t i = 0; i < size && size > 1; ++i) out.flows.push_back({run.member(i), run.member(i + 1), 1});
    }
  });
  out.busiest = 1;
  return out;
}

}  // namespace sim
