// sim/network/traffic.cpp -- see traffic.h.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/traffic.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <numeric>

namespace sim {
namespace {

using plan::GroupShape;
using plan::Layout;

// Consecutive members of a group that share an island.
using Run = std::vector<int>;

std::vector<Run> runs_of(int first, const GroupShape& group, int island) {
  std::vector<Run> runs;
  for (int i = 0; i < group.size; ++i) {
    const int rank = first + i * group.layout.stride;
    if (runs.empty() || runs.back().front() / island != rank / island) runs.emplace_back();
    runs.back().push_back(rank);
  }
  return runs;
}

// GPUs after which the switches repeat; 0: never.
std::int64_t period_of(const spec::Cluster& cluster) {
  using Kind = spec::Fabric::Kind;
  const spec::Fabric& fabric = cluster.fabric;
  if (fabric.kind == Kind::torus || fabric.routing == spec::Fabric::Routing::minimal) return 0;
  const std::int64_t nodes =
      fabric.upper_tiers.empty() ? std::max(1, fabric.leaf_nodes) : fabric.upper_tiers.back().nodes;
  return std::lcm(nodes * cluster.node.gpus, std::int64_t{island_gpus(cluster.node)});
}

// Ranks whose groups are to be looked at: one period of groups and switches, where it divides the whole.
int ranks_looked_at(const Layout& layout, std::int64_t period) {
  if (period == 0) return layout.ranks;
  const std::int64_t both = std::lcm(period, std::int64_t{layout.block});
  return layout.ranks % both == 0 ? static_cast<int>(both) : layout.ranks;
}

template <class Visit>
void for_each_group(const GroupShape& group, int ranks, Visit visit) {
  const Layout& layout = group.layout;
  for (int block = 0; block < ranks; block += layout.block) {
    for (int first = block; first < std::min(block + layout.starts, ranks); ++first) {
      if (std::int64_t{first} + std::int64_t{group.size - 1} * layout.stride < ranks) visit(first);
    }
  }
}

// Collects the flows of one group after another and how much leaves its busiest island.
class Collector {
 public:
  void begin(std::size_t islands) { leaving_.assign(islands, 0); }
  void hop(const std::vector<Run>& runs, std::size_t from, std::size_t to, double volume) {
    const Run &a = runs[from], &b = runs[to];
    const std::size_t lanes = std::max(a.size(), b.size());
    for (std::size_t i = 0; i < lanes; ++i) {
      out.flows.push_back({a[i % a.size()], b[i % b.size()], volume / static_cast<double>(lanes)});
    }
    leaving_[from] += volume;
    out.busiest = std::max(out.busiest, leaving_[from]);
  }
  Traffic out;

 private:
  std::vector<double> leaving_;
};

// Parent of a place in a binary tree over `size` places in order; the root, place 0, has none (-1).
int parent_of(int place, int size) {
  if (place == 0) return -1;
  const int lowest = place & -place, parent = (place ^ lowest) | (lowest << 1);
  return parent < size ? parent : place ^ lowest;
}

void trees(const std::vector<Run>& runs, Collector& out) {
  const int size = static_cast<int>(runs.size());
  for (int place = 1; place < size; ++place) {
    const int parent = parent_of(place, size);
    // The other tree mirrors the places (or shifts an odd number of them), so that its leaves are this one's interior.
    const auto other = [size](int p) { return size % 2 == 0 ? size - 1 - p : (p + 1) % size; };
    for (const auto& [child, above] : {std::pair{place, parent}, std::pair{other(place), other(parent)}}) {
      out.hop(runs, static_cast<std::size_t>(child), static_cast<std::size_t>(above), 0.5);
      out.hop(runs, static_cast<std::size_t>(above), static_cast<std::size_t>(child), 0.5);
    }
  }
}

void all_to_all(const std::vector<Run>& runs, Collector& out) {
  for (std::size_t from = 0; from < runs.size(); ++from) {
    for (std::size_t to = 0; to < runs.size(); ++to) {
      if (from != to) out.hop(runs, from, to, static_cast<double>(runs[from].size() * runs[to].size()));
    }
  }
}

}  // namespace

Traffic traffic_between(Pattern pattern, const GroupShape& group, const spec::Cluster& cluster, bool whole) {
  assert(group.layout.ranks > 0 && group.layout.ranks <= cluster.gpus());
  const int island = island_gpus(cluster.node);
  Collector out;
  for_each_group(group, whole ? group.layout.ranks : ranks_looked_at(group.layout, period_of(cluster)), [&](int first) {
    if (pattern == Pattern::shift || pattern == Pattern::send) {
      for (int i = 0; i < (pattern == Pattern::send ? 1 : group.size); ++i) {
        const int from = first + i * group.layout.stride, to = first + (i + 1) % group.size * group.layout.stride;
        if (from / island != to / island) out.out.flows.push_back({from, to, 1});
      }
      out.out.busiest = 1;
      return;
    }
    const std::vector<Run> runs = runs_of(first, group, island);
    if (runs.size() < 2) return;
    out.begin(runs.size());
    if (pattern == Pattern::tree) return trees(runs, out);
    if (pattern == Pattern::all_to_all) return all_to_all(runs, out);
    for (std::size_t i = 0; i < runs.size(); ++i) out.hop(runs, i, (i + 1) % runs.size(), 1);
  });
  return std::move(out.out);
}

Traffic traffic_inside(const GroupShape& group, const spec::Cluster& cluster) {
  assert(group.layout.ranks > 0 && group.layout.ranks <= cluster.gpus());
  const int island = island_gpus(cluster.node);
  Traffic out;
  for_each_group(group, ranks_looked_at(group.layout, island), [&](int first) {
    for (const Run& run : runs_of(first, group, island)) {
      for (std::size_t i = 0; i < run.size() && run.size() > 1; ++i) {
        out.flows.push_back({run[i], run[(i + 1) % run.size()], 1});
      }
    }
  });
  out.busiest = 1;
  return out;
}

}  // namespace sim
