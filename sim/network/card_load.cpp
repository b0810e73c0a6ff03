// SPDX-License-Identifier: Apache-2.0
#include "sim/network/card_load.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/network/hops.h"

namespace sim {
namespace {

/// Of the cards of one island: what all groups put on each, without faults and with them, the time of a sound card for
/// what one member sends being 1.
struct Island {
  std::map<std::pair<int, int>, double> usual, now;  // by node and port

  double slowdown(const Cards& cards) const {
    double before = 0, after = 0;
    for (const auto& [at, load] : usual) before = std::max(before, load);
    for (const auto& [at, load] : now) after = std::max(after, load / cards.left(at.first, at.second));
    return after / before;
  }
};

}  // namespace

double slowdown_of_cards(const Cards& cards, const plan::GroupShape& group, const spec::Cluster& cluster) {
  assert(group.layout.ranks > 0);
  const int size = cluster.node.island(), gpus = cluster.node.gpus;
  std::map<int, Island> islands;
  for (const int node : cards.faulty_nodes()) islands.try_emplace(node * gpus / size);
  for_each_group(group, islands.empty() ? 0 : group.layout.ranks, [&](int first) {
    const std::vector<Run> runs = runs_of(first, group, size);
    for (const Run& run : runs) {
      const auto at = islands.find(run.first / size);
      if (at == islands.end() || runs.size() < 2) continue;
      const auto members = static_cast<std::size_t>(run.size);
      int whole = 0;
      for (std::size_t i = 0; i < members; ++i) whole += cards.has_its_own(run.member(i));
      for (std::size_t i = 0; i < members; ++i) {
        const int rank = run.member(i), node = rank / gpus;
        at->second.usual[{node, cards.beside(rank)}] += 1;
        if (whole == 0) at->second.now[{node, cards.port_of(rank)}] += 1;
        if (cards.has_its_own(rank)) at->second.now[{node, cards.beside(rank)}] += 1.0 * run.size / whole;
      }
    }
  });
  double slowest = 1;
  for (const auto& [number, island] : islands) {
    if (!island.usual.empty()) slowest = std::max(slowest, island.slowdown(cards));
  }
  return slowest;
}

}  // namespace sim
