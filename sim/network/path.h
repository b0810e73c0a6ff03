// sim/network/path.h -- data-sheet rates that a group of GPUs finds on its way: NVLink or PCIe inside, NICs between.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "core/base/units.h"
#include "core/plan/work.h"
#include "core/spec/cluster.h"
#include "core/spec/outages.h"
#include "sim/network/cards.h"

namespace sim {

/// What one GPU can send to `members` - 1 others of its node or domain, one direction. A switch gives the whole NVLink
/// rate to any group; a mesh only the links that lead to members; PCIe without peer-to-peer passes through the host's
/// memory (written and read once), which all of `senders` share. `over_nvlink` false: no NVLink joins these members.
base::ByteRate inside_rate(const spec::Node&, int members, bool over_nvlink, int senders);
/// Of a group that is alone.
inline base::ByteRate inside_rate(const spec::Node& node, int members, bool over_nvlink) {
  return inside_rate(node, members, over_nvlink, members);
}
/// Whether all groups of a node share its host's memory.
bool shares_host_memory(const spec::Node&, bool over_nvlink);

/// Whether `members` GPUs of one island talk over NVLink.
bool joined_by_nvlink(const spec::Node&, int members);
/// Whether a transfer's kernels take enough SMs to slow others: NCCL gives a peer two channels, a block each, for every
/// NVLink of the path, and otherwise two or as many as its cards need, 4 at most on today's (ncclTopoGetNchannels,
/// NVIDIA/nccl src/graph/paths.cc).
bool takes_sms(const plan::Transfer&, const spec::Node&);

/// What a group may send out of one island, one direction: the cards near its `members` GPUs there, no more than its
/// part when `sharing` equal groups want the same cards.
base::ByteRate nic_rate(const spec::Cluster&, int members, int sharing);

/// Factor (at least 1) by which what joins islands slows one group of `domains` of them in consecutive nodes that uses
/// all their cards, where no more of it is told. O_t: product of the oversubscriptions up to tier t, n_t: islands below
/// one of its switches.
///   neighbours (a ring): one edge leaves each switch: the largest O_t / n_t of the tiers that the group outgrows
///   everyone to everyone: the largest O_t (domains - n_t) / (domains - 1)
///   dragonfly, minimal routing over G groups: a link between two has 1 / (G - 1) of a group's uplinks:
///     O (G - 1) / n for neighbours, O (G - 1) n / (domains - 1) for all
///   torus, R = node's cards over a link: R for neighbours; all to all over dimensions filled in order, k of them:
///     R domains / (domains - 1) k / 8 round a whole ring (k odd: (k^2 - 1) / 8 k), k / 4 along a part of one
double slowdown_neighbours(const spec::Cluster&, int domains);
double slowdown_all_to_all(const spec::Cluster&, int domains);

/// Who sends to whom while an algorithm streams: ring, tree, shift (each member to the next) and send (the first of two
/// to the second) over pairs, all_to_all over all.
enum class Pattern : std::uint8_t { ring, tree, all_to_all, shift, send };

/// What the fabric leaves a group while all groups of its axis run: data-sheet rates, before decay and efficiency.
/// Narrow uplinks are counted (sim/network/uplinks.h), all else follows from the group's shape; sim/network/flow.h runs
/// flows. Not for two threads at once: it keeps what it counted.
class Paths {
 public:
  /// The cluster must outlive it. Of `outages` this class knows those of cards: a group runs at the pace of its
  /// slowest node.
  explicit Paths(const spec::Cluster& cluster, const spec::Outages& outages = {})
      : cluster_(cluster), cards_(cluster, outages) {}
  virtual ~Paths() = default;
  /// What one rank may send to others of its island, one direction. `members`: of the group, in the island.
  virtual base::ByteRate inside(const plan::GroupShape&, int members, bool over_nvlink) const;
  /// What the group may send out of one island, one direction; shift and send: what one member may.
  virtual base::ByteRate between(const plan::GroupShape&, int members, Pattern) const;
  const spec::Cluster& cluster() const { return cluster_; }

 protected:
  const Cards& cards() const { return cards_; }

 private:
  double slowdown(const plan::GroupShape&, Pattern, base::ByteRate rate) const;
  int sharing_in_shift(const plan::GroupShape&) const;
  int flows_of_a_node(const plan::GroupShape&) const;
  double slowdown_of_its_cards(const plan::GroupShape&) const;

  const spec::Cluster& cluster_;
  Cards cards_;
  // Of groups whose layout is told.
  mutable std::map<std::pair<Pattern, plan::GroupShape>, double> slowdowns_;
  mutable std::map<plan::GroupShape, int> flows_;
  mutable std::map<plan::GroupShape, double> by_cards_;
};

}  // namespace sim
