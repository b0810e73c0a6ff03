// core/spec/ports.cpp -- cards and the ports of the fabric that they are plugged into (declared in cluster.h, rules.h).
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>
#include <vector>

#include "core/spec/rules.h"

namespace spec {
namespace {

void plug_in(Nic& nic, base::ByteRate port) {
  if (port.si() <= 0 || nic.bandwidth <= port) return;
  nic.rated = nic.bandwidth;
  nic.bandwidth = port;
}

/// "400 Gb/s", as cards and ports are sold.
std::string sold_as(base::ByteRate rate) { return text(std::lround(rate.si() * 8 / 1e9)) + " Gb/s"; }

}  // namespace

void plug_in(Cluster& cluster) {
  plug_in(cluster.node.nic, cluster.fabric.port);
  for (NodeGroup& group : cluster.groups) plug_in(group.node.nic, cluster.fabric.port);
}

void assemble(Cluster& cluster) {
  plug_in(cluster);
  cluster.node.nvlink.domain = placed_domain(cluster);
}

std::vector<std::string> port_warnings(const Cluster& cluster) {
  std::vector<std::string> out;
  const Fabric& fabric = cluster.fabric;
  if (cluster.nodes < 2) return out;
  const std::string ports = fabric.name + " has ports of " + sold_as(fabric.port);
  for (int kind = 0; kind < cluster.kinds(); ++kind) {
    const Node& node = cluster.node_of(kind);
    const std::string cards = node.name + "'s cards of ";
    if (node.nic.rated.si() > 0) {
      out.push_back(ports + ": " + cards + sold_as(node.nic.rated) + " run at that");
    } else if (node.nic.count > 0 && fabric.port > node.nic.bandwidth) {
      out.push_back(ports + ", but " + cards + sold_as(node.nic.bandwidth) + " set the pace");
    }
  }
  return out;
}

}  // namespace spec
