// SPDX-License-Identifier: Apache-2.0
#include "core/config/cluster_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/spec/mixed_cluster.h"
#include "core/spec/ranges.h"

namespace config {
namespace {

bool same(const Value& a, const Value& b) {
  const auto entries = [](const auto& x, const auto& y) { return x.first == y.first && same(x.second, y.second); };
  return a.kind == b.kind && a.text == b.text && std::ranges::equal(a.items, b.items, same) &&
         std::ranges::equal(a.entries, b.entries, entries);
}

/// Groups of nodes of different kinds. Returns the map of the first, whose own fabric joins them when none is named.
Value read_groups(const Value& list, const Catalogue& catalogue, spec::Cluster& cluster, Faults& faults) {
  Value first;
  bool alike = true;
  cluster.nodes = 0;
  for (std::size_t g = 0; g < list.items.size(); ++g) {
    const std::string path = "cluster.node[" + std::to_string(g) + "]";
    const std::string name = list.items[g].text.empty() ? "dgx-h100" : list.items[g].text;
    MapReader map(list.items[g], path, faults, "{node: " + name + ", nodes: 4} for each kind of node");
    spec::NodeGroup group;
    map.read("nodes", group.nodes, 1, spec::kMostNodes);
    if (const Value* node = map.child("node")) {
      Value tree = catalogue.expanded(Catalogue::Kind::node, *node, path + ".node", faults);
      if (tree.kind != Value::Kind::null) group.node = catalogue.node(tree, path + ".node", faults);
      if (g == 0)
        first = std::move(tree);
      else
        alike = alike && same(tree, first);
    } else if (list.items[g].kind == Value::Kind::map) {
      map.fault("node", "is missing", "write {node: dgx-h100, nodes: 4} for each kind of node");
    }
    map.finish();
    cluster.nodes += group.nodes;
    cluster.groups.push_back(std::move(group));
  }
  if (cluster.groups.empty()) {
    faults.push_back({"cluster.node", "is an empty list", "name a node, or groups of {node, nodes}", list.where});
  } else {
    cluster.node = cluster.groups[spec::least_able(cluster)].node;
    if (alike) cluster.groups.clear();
  }
  return first;
}

bool names_nothing(const Value& fabric) {
  return fabric.kind == Value::Kind::map && !fabric.find("kind") && !fabric.find("base");
}

/// A map of neither a kind nor a base is laid over the node's own fabric.
Value laid_over_own(const Value& fabric, const Value* own) {
  Value out = fabric;
  if (own && own->kind != Value::Kind::null && names_nothing(fabric)) out.set("base", *own);
  return out;
}

}  // namespace

spec::Cluster read_cluster(const Value& value, const Catalogue& catalogue, Faults& faults) {
  spec::Cluster cluster;
  MapReader map(value, "cluster", faults, "cluster: {node: dgx-h100, nodes: 8}, for example");
  const Value* fabric = map.child("fabric");
  const Value* node = map.child("node");
  const bool mixed = node && node->kind == Value::Kind::list;
  if (mixed && map.has("nodes")) {
    map.fault("nodes", "is counted by the groups of a mixed cluster", "write nodes: inside each group of cluster.node");
  } else {
    map.read("nodes", cluster.nodes, 1, spec::kMostNodes);
  }
  Value tree;
  if (mixed) {
    tree = read_groups(*node, catalogue, cluster, faults);
  } else if (node) {
    tree = catalogue.expanded(Catalogue::Kind::node, *node, "cluster.node", faults);
    if (tree.kind != Value::Kind::null) cluster.node = catalogue.node(tree, "cluster.node", faults);
  } else if (value.kind == Value::Kind::map || value.kind == Value::Kind::null) {
    map.fault("node", "is missing", "add `node:` with a name, a path or a map; `forerun list nodes` shows the names");
  }
  if (!fabric && cluster.mixed()) {
    map.fault("fabric", "is missing, and each kind of node has its own",
              "add `fabric:` with a name or a map; `forerun list fabrics` shows the names");
  }
  const Value* own = cluster.mixed() ? nullptr : tree.find("fabric");
  const Value laid = fabric ? laid_over_own(*fabric, own) : Value();
  fabric = fabric ? &laid : tree.find("fabric");
  if (fabric && names_nothing(*fabric) && tree.kind != Value::Kind::null) {
    map.fault("fabric", "has neither a kind nor a base, and there is no fabric of the node's own for it to change",
              "add base: with a name of `forerun list fabrics`, or describe it with kind:");
  } else if (fabric && fabric->kind != Value::Kind::null) {
    cluster.fabric = catalogue.fabric(*fabric, "cluster.fabric", faults);
  } else if (cluster.nodes > 1 && tree.kind != Value::Kind::null) {
    map.fault("fabric", "is missing, and the node has no fabric of its own",
              "add `fabric:` with a name or a map; `forerun list fabrics` shows the names");
  }
  map.read("hosts", cluster.hosts, 0, spec::kMostNodes);
  spec::plug_in(cluster);
  map.finish();
  return cluster;
}

}  // namespace config
