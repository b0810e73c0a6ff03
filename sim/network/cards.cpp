// SPDX-License-Identifier: Apache-2.0
#include "sim/network/cards.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <tuple>

#include "sim/network/path.h"

namespace sim {
namespace {

std::vector<int> stand_ins(const std::vector<double>& left) {
  const int ports = static_cast<int>(left.size());
  std::vector<int> users(left.size(), 1), out(left.size());
  for (int port = 0; port < ports; ++port) {
    int best = port;
    if (left[static_cast<std::size_t>(port)] == 0) {
      const auto worth = [&](int p) { return std::tuple(users[static_cast<std::size_t>(p)], std::abs(p - port), p); };
      best = -1;
      for (int p = 0; p < ports; ++p) {
        if (left[static_cast<std::size_t>(p)] > 0 && (best < 0 || worth(p) < worth(best))) best = p;
      }
      if (best < 0) best = port;  // none is left: nothing leaves this node
      ++users[static_cast<std::size_t>(best)];
    }
    out[static_cast<std::size_t>(port)] = best;
  }
  return out;
}

}  // namespace

Cards::Cards(const spec::Cluster& cluster, const spec::Outages& outages)
    : gpus_(std::max(1, cluster.node.gpus)), ports_(spec::ports(cluster.node)), island_(cluster.node.island()) {
  std::set<int> nodes;
  for (const spec::LinkFault& link : outages.links()) {
    if (link.in_a_node()) nodes.insert(link.node);
  }
  for (const spec::LostNics& lost : outages.lost_nics) nodes.insert(lost.node);
  if (ports_ < 1) return;
  for (const int node : nodes) {
    Node& faulty = faulty_[node];
    faulty.left = spec::ports_left(outages, cluster.node, node);
    faulty.stand_in = stand_ins(faulty.left);
  }
}

int Cards::standing_in(int node, int port) const {
  const auto at = faulty_.find(node);
  return at == faulty_.end() ? port : at->second.stand_in[static_cast<std::size_t>(port)];
}

int Cards::beside(int rank) const { return static_cast<int>(std::int64_t{rank % gpus_} * ports_ / gpus_); }

int Cards::port_of(int rank) const { return standing_in(rank / gpus_, beside(rank)); }

double Cards::left_beside(int rank) const { return left(rank / gpus_, beside(rank)); }

std::vector<int> Cards::faulty_nodes() const {
  std::vector<int> out;
  for (const auto& [node, faulty] : faulty_) out.push_back(node);
  return out;
}

double Cards::left(int node, int port) const {
  const auto at = faulty_.find(node);
  return at == faulty_.end() ? 1 : at->second.left[static_cast<std::size_t>(port)];
}

double Cards::slowdown(int members, int sharing) const {
  double slowest = 1;
  const int active = std::min(island_, members * std::max(1, sharing));
  const int mine = static_cast<int>(std::int64_t{members} * ports_ + gpus_ - 1) / gpus_;  // ports beside its members
  for (const auto& [node, faulty] : faulty_) {
    double least = 1;
    int lost = 0;
    for (const double left : faulty.left) {
      if (left > 0) least = std::min(least, left);
      lost += left == 0;
    }
    if (lost == ports_) continue;  // spec::check() has seen that nothing leaves this node
    double shared = 1;
    const int left = ports_ - lost, users = (ports_ + left - 1) / left;  // of the fullest card
    if (lost > 0 && mine > lost) {
      shared = static_cast<double>(mine) / (mine - lost);
    } else if (lost > 0 && active > 1) {
      // Of a group of several the last one with a card may carry all that is its group's, beside what it stands in for.
      shared = std::min(ports_, mine + users - 1);
    }
    slowest = std::max(slowest, shared / least);
  }
  return slowest;
}

}  // namespace sim
