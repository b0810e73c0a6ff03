// core/spec/outage_rules.cpp -- links and cards that are to be slow or gone exist and leave a way round; nodes stand at
// places of the fabric (declared in rules.h). SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "core/spec/rules.h"

namespace spec {
namespace {

std::string up_to(std::int64_t count) { return count == 1 ? "only 0" : "0 to " + text(count - 1); }

class Outage : Rules {
 public:
  using Rules::Rules;
  std::vector<base::Fault> run() {
    placement();
    routing();
    if (!job_.simulation.any()) return std::move(faults_);
    if (cluster_.mixed()) {
      fault(first_key(), "a slow or lost link in a cluster of several kinds of node is not supported by this version",
            "leave it out, or name one kind of node");
      return std::move(faults_);
    }
    for (const LinkFault& link : job_.simulation.slow_links) exists(link, "simulation.slow_links");
    for (const LinkFault& link : job_.simulation.dead_links) exists(link, "simulation.dead_links");
    for (const LostNics& lost : job_.simulation.lost_nics) exists(lost);
    if (faults_.empty()) ways_round();
    return std::move(faults_);
  }

 private:
  std::string first_key() const {
    const Simulation& s = job_.simulation;
    return !s.slow_links.empty()   ? "simulation.slow_links"
           : !s.dead_links.empty() ? "simulation.dead_links"
                                   : "simulation.lost_nics";
  }
  bool flows() const { return job_.network.fidelity != Fidelity::closed_form; }

  void placement() {
    const std::vector<int>& hosts = cluster_.hosts;
    const std::int64_t places = cluster_.places();
    if (cluster_.fabric.nodes > 0 && cluster_.fabric.nodes < cluster_.nodes) {
      fault("cluster.fabric.nodes",
            "has places for " + text(cluster_.fabric.nodes) + " nodes, and the cluster has " + text(cluster_.nodes),
            "write at least " + text(cluster_.nodes));
    }
    if (hosts.empty()) return;
    if (static_cast<std::int64_t>(hosts.size()) != cluster_.nodes) {
      fault("cluster.hosts",
            "names " + text(static_cast<std::int64_t>(hosts.size())) + " places for " + text(cluster_.nodes) + " nodes",
            "write one place in the fabric for each node");
    }
    std::set<int> taken;
    for (const int host : hosts) {
      if (host < 0 || host >= places) {
        fault("cluster.hosts", "place " + text(host) + " does not exist",
              "places go from 0 to " + text(places - 1) + "; cluster.fabric.nodes says how many a larger fabric has");
      } else if (!taken.insert(host).second) {
        fault("cluster.hosts", "place " + text(host) + " is taken twice", "name each place once");
      }
    }
    if (cluster_.node.nvlinked() > cluster_.node.gpus) {
      fault("cluster.hosts", "nodes of one NVLink domain of several cannot be moved apart",
            "leave hosts out, or name a node that is a domain of its own");
    }
    // Uplinks of switches are counted wherever nodes are; of a torus and of direct links no rate is worked out so.
    const bool counted =
        cluster_.fabric.kind != Fabric::Kind::torus && cluster_.fabric.routing != Fabric::Routing::minimal;
    if (!flows() && !counted) {
      fault("cluster.hosts", "the closed form takes the nodes of this fabric to stand side by side",
            "write network.fidelity: flow");
    }
  }

  void routing() {
    if (cluster_.fabric.routing == Fabric::Routing::ecmp && !flows()) {
      fault("cluster.fabric.routing", "the closed form knows no single uplinks that flows could be hashed to",
            "write network.fidelity: flow, or routing: spray");
    }
  }

  bool node_exists(int node, const std::string& key) {
    if (node >= 0 && node < cluster_.nodes) return true;
    fault(key, "node " + text(node) + " does not exist", "nodes go from 0 to " + text(cluster_.nodes - 1));
    return false;
  }

  void exists(const LostNics& lost) {
    const std::string key = "simulation.lost_nics";
    if (!node_exists(lost.node, key)) return;
    if (lost.count > cluster_.node.nic.count) {
      fault(key,
            "node " + text(lost.node) + " has " + text(cluster_.node.nic.count) + " cards, not " + text(lost.count),
            "write a count below " + text(cluster_.node.nic.count));
    }
  }

  void exists(const LinkFault& link, const std::string& key) {
    if (link.in_a_node()) {
      if (node_exists(link.node, key) && link.card >= cluster_.node.nic.count) {
        fault(key, "node " + text(link.node) + " has no card " + text(link.card),
              cluster_.node.nic.count > 0 ? "cards are " + up_to(cluster_.node.nic.count) : "leave it out");
      }
      return;
    }
    if (!flows()) {
      fault(key, "the closed form does not know which groups cross a link of the fabric",
            "write network.fidelity: flow, or name a node's cards: {node: 0}");
      return;
    }
    if (link.from >= 0) return between_exists(link, key);
    const int known = tiers(cluster_.fabric);
    if (link.tier >= known) {
      fault(key, known == 0 ? "the fabric has no leaves" : "the fabric has no tier " + text(link.tier) + " of switches",
            known == 0 ? "name a node's cards: {node: 0}, or a fabric with leaf_nodes"
                       : "write {leaf: 0}; tiers from 1 on are the fabric's upper_tiers");
      return;
    }
    const std::string what = link.tier == 0 ? "leaf" : "switch";
    if (const int there = switches(cluster_, link.tier); link.at >= there) {
      fault(key, what + " " + text(link.at) + " does not exist", "they are " + up_to(there));
    }
    if (link.rail >= rails(cluster_)) {
      fault(key, "rail " + text(link.rail) + " does not exist", "rails are " + up_to(rails(cluster_)));
    }
    if (const int there = uplinks(cluster_, link.tier); link.count > there) {
      fault(key, "a " + what + " has " + text(there) + " uplinks, not " + text(link.count),
            "write a count of at most " + text(there));
    }
  }

  void between_exists(const LinkFault& link, const std::string& key) {
    const int groups = dragonfly_groups(cluster_);
    if (cluster_.fabric.routing != Fabric::Routing::minimal || groups < 2) {
      fault(key, "no link between two groups is told apart in this fabric",
            "name a switch's uplinks: {leaf: 0}, or a dragonfly with routing: minimal");
    } else if (link.from >= groups || link.to >= groups || link.from == link.to) {
      fault(key, "groups " + text(link.from) + " and " + text(link.to) + " are not two groups of the dragonfly",
            "groups are " + up_to(groups));
    }
  }

  /// Dead links, all together, must leave each node and each switch a way out.
  void ways_round() {
    const int island = cluster_.node.island();
    std::set<int> nodes;
    for (const LostNics& lost : job_.simulation.lost_nics) nodes.insert(lost.node);
    for (const LinkFault& link : job_.simulation.dead_links) {
      if (link.in_a_node()) nodes.insert(link.node);
    }
    for (const int node : nodes) {
      const std::vector<double> left = ports_left(job_.simulation, cluster_.node, node);
      const bool cut_off = std::all_of(left.begin(), left.end(), [](double share) { return share == 0; });
      if (cut_off && cluster_.gpus() > island) {
        fault(job_.simulation.lost_nics.empty() ? "simulation.dead_links" : "simulation.lost_nics",
              "node " + text(node) + " has no card left, and nothing else joins it to the others",
              "leave it at least one of its " + text(cluster_.node.nic.count) + " cards, or leave the node out");
      }
    }
    std::set<std::pair<int, int>> told;
    for (const LinkFault& link : job_.simulation.dead_links) {
      if (link.from >= 0) {
        fault("simulation.dead_links",
              "minimal routing has no other way between groups " + text(link.from) + " and " + text(link.to),
              "write cluster.fabric.routing: spray");
      } else if (!link.in_a_node() && dead_uplinks(link) >= uplinks(cluster_, link.tier) &&
                 told.insert({link.tier, link.at}).second) {
        fault("simulation.dead_links",
              (link.tier == 0 ? "leaf " : "switch ") + text(link.at) + " has no uplink left, and nothing else joins it",
              "write a count below " + text(uplinks(cluster_, link.tier)));
      }
    }
  }

  /// Of this switch, by all entries that name it (and its rail).
  std::int64_t dead_uplinks(const LinkFault& of) const {
    std::int64_t dead = 0;
    for (const LinkFault& link : job_.simulation.dead_links) {
      const bool same =
          link.tier == of.tier && link.at == of.at && (link.rail == of.rail || link.rail < 0 || of.rail < 0);
      if (!link.in_a_node() && same) dead += link.count > 0 ? link.count : uplinks(cluster_, link.tier);
    }
    return dead;
  }
};

}  // namespace

std::vector<base::Fault> outage_faults(const Job& job) { return Outage(job).run(); }

}  // namespace spec
