// sim/network/cards.h -- which network card each GPU uses, and at what rate, once some are slow or lost.
//
// A GPU whose card is lost uses a neighbour's: the card with the fewest users, the nearest of those. Rings, trees and
// all-to-alls of several GPUs of a node leave it by GPUs that have a card of their own, as NCCL's channels do, each
// with an equal share: 7 of 8 cards carry 1/7 each, 8/7 of what they did. A single GPU's transfer has no such choice
// and shares its neighbour's card: twice as long. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "core/spec/cluster.h"
#include "core/spec/outages.h"

namespace sim {

class Cards {
 public:
  Cards() = default;
  /// REQUIRES: outages that spec::check() passes.
  Cards(const spec::Cluster&, const spec::Outages&);

  /// The port of its node that a GPU sends and receives by.
  int port_of(int rank) const;
  /// The one to use where `port` of that node is meant: itself, or who stands in for it.
  int standing_in(int node, int port) const;
  /// Whether that is the one beside it.
  bool has_its_own(int rank) const { return faulty_.empty() || left_beside(rank) > 0; }
  /// What is left of a port's rate, 0 to 1.
  double left(int node, int port) const;

  /// The port beside a GPU, whatever is left of it.
  int beside(int rank) const;
  /// Those with a fault, in order.
  std::vector<int> faulty_nodes() const;

  /// How many times as long (at least 1) the slowest node's cards take for a group with `members` GPUs in it, while
  /// `sharing` like groups use them too, wherever these lie: an upper bound, for which of them lost the cards is not
  /// told, nor whether a stand-in is slow itself or idle. Where it is told: sim/network/card_load.h.
  double slowdown(int members, int sharing) const;

 private:
  struct Node {
    std::vector<double> left;
    std::vector<int> stand_in;  // of each port
  };
  double left_beside(int rank) const;

  int gpus_ = 1, ports_ = 0, island_ = 1;
  std::map<int, Node> faulty_;
};

}  // namespace sim
