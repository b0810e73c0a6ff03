// sim/engine/tournament.h -- the earliest of many clocks: a winner tree over instances. Ties go to the lower index.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace sim {

class Tournament {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  explicit Tournament(std::size_t players) {
    while (leaves_ < players) leaves_ *= 2;
    nodes_.resize(2 * leaves_);
    for (std::size_t i = 0; i < leaves_; ++i) nodes_[leaves_ + i].winner = static_cast<std::int32_t>(i);
    for (std::size_t node = leaves_ - 1; node >= 1; --node) nodes_[node] = nodes_[2 * node];
  }

  void set(std::int32_t player, std::int64_t key) {
    std::size_t node = leaves_ + player;
    if (nodes_[node].key == key) return;
    nodes_[node].key = key;
    for (node /= 2; node >= 1; node /= 2) {
      const Node best = nodes_[2 * node + (nodes_[2 * node + 1].key < nodes_[2 * node].key)];
      if (nodes_[node] == best) return;
      nodes_[node] = best;
    }
  }
  std::int32_t winner() const { return nodes_[1].winner; }
  std::int64_t earliest() const { return nodes_[1].key; }

 private:
  struct Node {
    std::int64_t key = kNever;  // of the winner below
    std::int32_t winner = 0;
    bool operator==(const Node&) const = default;
  };
  std::size_t leaves_ = 1;
  std::vector<Node> nodes_;  // the root is 1, the children of n are 2n and 2n + 1
};

}  // namespace sim
