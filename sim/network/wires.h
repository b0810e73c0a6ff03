// sim/network/wires.h -- a cluster as a graph of links with capacities, and the route between any two GPUs.
//
// Links are numbered, not stored: each family (NVLink of a GPU, card of a node, uplinks of a tier, ...) is a range of
// ids of one capacity, and a route is worked out from the two GPUs' numbers. Memory does not grow with the cluster.
//
//   GPU -> NVLink up, NVLink down -> GPU          inside a domain joined by switches (mesh: the pair's own link)
//   GPU -> PCIe up, [host memory,] PCIe down      inside a node otherwise; host memory without peer-to-peer
//   GPU -> card, uplinks, downlinks, card         between islands
//
// The uplinks of a switch are one link of their summed capacity, as packet spraying and adaptive routing use them;
// under static ECMP each is a link of its own, and a hash of seed and pair of GPUs picks one at each switch on the way
// up and, for a spine has one link to each leaf, the like one on the way down. The spine is never the limit.
// Rail-optimised leaves join cards of one place in their nodes; where NVLink joins a node's GPUs, data first moves to
// the GPU beside the card of the target's rail (PXN; NVLink is not charged). A node stands at a place of the fabric
// (spec::Cluster::hosts); slow links have less capacity, lost cards are stood in for by neighbours
// (sim/network/cards.h), whose rail the target need not be on: then the spine is crossed. Leaves out: PCIe between GPU
// and card, the detours of adaptive routing in a dragonfly (they use links of other groups).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/spec/cluster.h"
#include "core/spec/outages.h"
#include "sim/network/cards.h"

namespace sim {

class Wires {
 public:
  using Link = std::int32_t;

  /// REQUIRES: a cluster that spec::check() passes. Ranks are GPUs in order, `node.gpus` a node.
  explicit Wires(const spec::Cluster&, const spec::Outages& = {});

  /// Appends the links from one GPU to another, in order; returns the number of switches (or torus nodes) between.
  /// Equal GPUs: nothing. REQUIRES: 0 <= source, target < cluster.gpus().
  int route(int source, int target, std::vector<Link>& out) const;

  Link links() const;  // ids are 0 .. links() - 1
  base::ByteRate capacity(Link) const;
  /// Hosts or hashes make switches differ from one another.
  bool uneven() const { return !hosts_.empty() || hashes_; }
  /// "nic up 3", for people.
  std::string name(Link) const;

 private:
  struct Family {
    std::string_view name;
    Link first = 0;
    base::ByteRate capacity;
  };
  struct Stage {  // the switches of one tier
    int nodes = 0;
    Link up = 0, down = 0;
    int uplinks = 1;        // told apart: all of a switch under ECMP
    std::vector<int> dead;  // of them, the first so many of each switch; empty: none
  };

  Link add(std::string_view name, std::int64_t count, base::ByteRate capacity);
  void add_switches(const spec::Cluster&);
  void slow_down(const spec::Cluster&, const spec::LinkFault&);
  void slow_down(Link, double factor);
  const Family& family(Link) const;
  int inside(int source, int target, std::vector<Link>& out) const;
  int between(int source, int target, std::vector<Link>& out) const;
  struct Way {  // between places of the fabric
    int from = 0, to = 0, rail_out = 0, rail_in = 0;
    std::uint64_t flow = 0;  // a hash of the two GPUs
  };
  int through_switches(const Way&, std::vector<Link>& out) const;
  int through_torus(int turn, int from, int to, std::vector<Link>& out) const;
  int place_of(int node) const { return hosts_.empty() ? node : hosts_[static_cast<std::size_t>(node)]; }

  std::vector<Family> families_;
  Link next_ = 0;
  int gpus_ = 1, domain_ = 1, island_ = 1;  // GPUs of a node, of an NVLink domain, of what pools cards
  bool mesh_ = false, peer_to_peer_ = true, hands_over_ = false;
  int ports_ = 0, rails_ = 1;  // cards of a node that GPUs are told apart by; leaves side by side
  bool direct_groups_ = false;
  int groups_ = 0;
  std::vector<int> shape_;
  Link nvlink_up_ = 0, nvlink_down_ = 0, pcie_up_ = 0, pcie_down_ = 0, host_ = 0, card_up_ = 0, card_down_ = 0;
  Link torus_ = 0, between_groups_ = 0;
  std::vector<Stage> stages_;
  Cards cards_;
  std::vector<int> hosts_;
  bool hashes_ = false;  // static ECMP
  std::uint64_t seed_ = 1;
  std::map<Link, double> slow_;  // what is left of its capacity
};

}  // namespace sim
