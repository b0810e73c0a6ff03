// sim/network/traffic.cpp -- see traffic.h.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/traffic.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <numeric>

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
    const std::vector<std::size_t> lanes = lanes_of(a, b);
    for (const std::size_t i : lanes) {
      out.flows.push_back({a.member(i), b.member(i), volume / static_cast<double>(lanes.size())});
    }
    leaving_[from] += volume;
    out.busiest = std::max(out.busiest, leaving_[from]);
  }
  Traffic out;

 private:
  // Members side by side; where some have lost their card, those that have one at both ends, if there are any.
  std::vector<std::size_t> lanes_of(const Run& a, const Run& b) const {
    std::vector<std::size_t> all(static_cast<std::size_t>(std::max(a.size, b.size))), left;
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (a.size != b.size) return all;
    std::copy_if(all.begin(), all.end(), std::back_inserter(left),
                 [&](std::size_t i) { return cards_.has_its_own(a.member(i)) && cards_.has_its_own(b.member(i)); });
    return left.empty() ? all : left;
  }

  const Cards& cards_;
  std::vector<double> leaving_;
};

}  // namespace

Traffic traffic_between(Pattern pattern, const GroupShape& group, const spec::Cluster& cluster, const Cards& cards,
                        bool uneven) {
  assert(group.layout.ranks > 0 && group.layout.ranks <= cluster.gpus());
  const int island = cluster.node.island();
  Collector out(cards);
  for_each_group(group, ranks_to_look_at(group.layout, cluster, uneven), [&](int first) {
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
