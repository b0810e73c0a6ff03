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
    keys_.assign(2 * leaves_, kNever);
    winners_.resize(2 * leaves_);
    for (std::size_t i = 0; i < leaves_; ++i) winners_[leaves_ + i] = static_cast<std::int32_t>(i);
    for (std::size_t node = leaves_ - 1; node >= 1; --node) winners_[node] = winners_[2 * node];
  }

  void set(std::int32_t player, std::int64_t key) {
    std::size_t node = leaves_ + player;
    if (keys_[node] == key) return;
    keys_[node] = key;
    for (node /= 2; node >= 1; node /= 2) {
      const std::size_t best = keys_[2 * node + 1] < keys_[2 * node] ? 2 * node + 1 : 2 * node;
      if (keys_[node] == keys_[best] && winners_[node] == winners_[best]) return;
      keys_[node] = keys_[best];
      winners_[node] = winners_[best];
    }
  }
  std::int32_t winner() const { return winners_[1]; }
  std::int64_t earliest() const { return keys_[1]; }

 private:
  std::size_t leaves_ = 1;
  std::vector<std::int64_t> keys_;       // of the winner below each node
  std::vector<std::int32_t> winners_;
};

}  // namespace sim
