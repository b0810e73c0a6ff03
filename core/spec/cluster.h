// core/spec/cluster.h -- nodes, the links inside them and the fabric that joins them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/spec/calibration.h"
#include "core/spec/gpu.h"
#include "core/spec/names.h"

namespace spec {

/// none: PCIe only; mesh: direct links; nvswitch: all to all through switches
enum class Switch { none, mesh, nvswitch };
template <>
inline constexpr auto kNamesOf<Switch> = spelt("none", "mesh", "nvswitch");

enum class NicKind { none, infiniband, roce, efa, omnipath, ethernet, slingshot };
template <>
inline constexpr auto kNamesOf<NicKind> = spelt("none", "infiniband", "roce", "efa", "omnipath", "ethernet",
                                                "slingshot");

/// Rates are for one GPU (one card for the NIC) and one direction.
struct Nvlink {
  base::ByteRate bandwidth;
  int domain = 1;  // GPUs that reach one another; more than `gpus` when racks are one domain (NVL72)
  Switch via = Switch::none;
  bool multicast = false;  // in-switch reduction (NVLS)
};
struct Nic {
  base::ByteRate bandwidth;  // one card
  int count = 0;             // cards a node; fewer cards than GPUs are shared by neighbours
  NicKind kind = NicKind::none;
  base::ByteRate rated{};  // what the card itself could do where the fabric's ports are slower; 0: its bandwidth
  bool one_each = false;   // nobody said how many cards: as many as GPUs
};
struct Pcie {
  base::ByteRate bandwidth;
  bool p2p = true;      // GPUs reach one another without the host's memory
  base::ByteRate copy;  // that copies to and from pinned host memory reach; 0: all of it
  base::ByteRate copies() const { return copy.si() > 0 && copy < bandwidth ? copy : bandwidth; }
};
struct Host {
  base::Bytes memory;
  base::ByteRate bandwidth;
  double launch_slowdown = 1;  // as many times an x86 server's host times: Framework::host_slowdown
};
struct Nvme {
  base::ByteRate read, write;
  base::Bytes capacity;  // 0: unknown
};

struct Node {
  std::string name;
  Gpu gpu;
  Calibration calibration;   // of that GPU's kernels
  NetworkCalibration links;  // of collectives that stay inside the NVLink domain or the node
  int gpus = 0;
  Nvlink nvlink;
  Nic nic;
  Pcie pcie;
  Host host;
  Nvme nvme;
  base::Watts power;

  /// GPUs that NVLink joins; 1 without it.
  int nvlinked() const { return nvlink.via == Switch::none ? 1 : nvlink.domain; }
  /// GPUs of an island: a node, or the NVLink domain where it spans several (NVL72). The fabric begins behind it.
  int island() const { return std::max(gpus, nvlinked()); }
};

/// Switches above the leaves: `nodes` below one of them, downlink over uplink capacity.
struct Tier {
  int nodes = 0;
  double oversubscription = 1;
};

/// How nodes are joined. Oversubscription is downlink over uplink capacity of a switch; 1 is full bisection.
struct Fabric {
  std::string name;
  /// rail_optimized (and nvl_rack, racks of one NVLink domain): a leaf joins the cards of one place in their nodes.
  /// fat_tree: a leaf joins all cards of its nodes. dragonfly: groups of switches, joined all to all. torus: no
  /// switches, each node has links to its neighbours.
  enum class Kind { single_switch, rail_optimized, fat_tree, nvl_rack, dragonfly, torus } kind = Kind::single_switch;
  double oversubscription = 1;
  int leaf_nodes = 0;             // nodes below one leaf (or rail group); 0: all
  std::vector<Tier> upper_tiers;  // from the leaves upward; of a dragonfly its groups
  /// spray: packets take all uplinks (adaptive routing); minimal: a dragonfly's direct link between two groups alone;
  /// ecmp: a hash ties each flow to one uplink of each switch (static).
  enum class Routing { spray, minimal, ecmp } routing = Routing::spray;
  int nodes = 0;              // that have a place below its switches; 0: as many as the cluster has
  int groups = 0;             // dragonfly: groups that share the links of one; 0: as many as the cluster has
  std::vector<int> shape;     // torus: nodes in each dimension, the first runs fastest
  base::ByteRate link;        // torus: between neighbours, one direction
  base::Seconds hop_latency;  // one switch hop
  NicKind nic_kind = NicKind::infiniband;
  base::ByteRate port;               // of a switch, one direction; a faster card runs at it. 0: as fast as any card
  bool in_switch_reduction = false;  // switches add up (SHARP) and NCCL is told to use it (NCCL_COLLNET_ENABLE=1)
  NetworkCalibration calibration;    // of collectives that cross it
};
template <>
inline constexpr auto kNamesOf<Fabric::Kind> = spelt("single_switch", "rail_optimized", "fat_tree", "nvl_rack",
                                                     "dragonfly", "torus");

/// Nodes of one kind, side by side.
struct NodeGroup {
  Node node;
  int nodes = 1;
  double pace =
      0;  // work a second of one of its GPUs, on a scale of all groups; 0: not known, their peaks stand for it
};

struct Cluster {
  Node node;  // mixed: of the group with the least able GPUs, for all that depends on the GPU (a default kernel, say)
  int nodes = 1;  // of all groups
  Fabric fabric;
  std::vector<NodeGroup> groups;  // of a mixed cluster; ranks fill them in this order. Empty: all nodes are alike
  std::vector<int> hosts;         // the place in the fabric of each node; empty: node n is at place n
  int gpus() const { return node.gpus * nodes; }
  /// Nothing joins the nodes: they have no network cards, and NVLink does not span them.
  bool apart() const {
    return nodes > 1 && node.nvlinked() < gpus() && (node.nic.count < 1 || !(node.nic.bandwidth.si() > 0));
  }
  int places() const;  // in the fabric (of a torus: by its shape), at least as many as nodes
  int place_of(int of_node) const { return hosts.empty() ? of_node : hosts[static_cast<std::size_t>(of_node)]; }

  bool mixed() const { return !groups.empty(); }
  int kinds() const { return mixed() ? static_cast<int>(groups.size()) : 1; }
  const Node& node_of(int kind) const { return mixed() ? groups[kind].node : node; }
  int kind_of_rank(int rank) const;
  Cluster of_kind(int kind) const;  // as if all nodes were of that kind
};

/// A card is as fast as the port that it is plugged into: lowers the cards' bandwidth where the fabric's ports are
/// slower, and keeps what they are rated.
void plug_in(Cluster&);

/// That the fabric has places for: of a torus by its shape, of a dragonfly by its groups; otherwise as many as there
/// are.
std::int64_t most_nodes(const Cluster&);

/// GPUs of one NVLink domain that spans nodes which a job takes when it needs several: schedulers place equal segments
/// of nodes (Slurm's topology/block), so 256 GPUs on racks of 72 are four times 64. A segment below half of the domain
/// is not worth it: then domains are filled.
int placed_domain(const Cluster&);

/// The cluster as it will be run, plugged in and placed, where no Job is resolved (resolve() tells the placing).
void assemble(Cluster&);

std::string gpus_text(const Cluster&);   // "64 GPUs", "1 GPU"
std::string nodes_text(const Cluster&);  // "8 x dgx-h100", "4 x dgx-h100 + 4 x dgx-a100-80gb"

}  // namespace spec
