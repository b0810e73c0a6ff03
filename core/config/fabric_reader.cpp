// SPDX-License-Identifier: Apache-2.0
#include "core/config/fabric_reader.h"
#include "core/base/text.h"

#include "core/spec/ranges.h"

namespace config {
namespace {

using FabricKind = spec::Fabric::Kind;

spec::Tier read_tier(const Value& value, const std::string& path, Faults& faults) {
  spec::Tier tier;
  MapReader map(value, path, faults, "{nodes: 64, oversubscription: 2}");
  map.require("nodes", tier.nodes, 1, spec::kMostNodes);
  map.require("oversubscription", tier.oversubscription, 1, 1000);
  map.finish();
  return tier;
}

/// Each tier joins several whole switches of the one below.
void check_tier(MapReader& map, std::string_view key, int nodes, int below) {
  if (nodes < 1) return;  // told already
  if (below < 1) {
    map.fault("leaf_nodes", "is missing, and " + base::quoted(key) + " lies above the leaves",
              "write how many nodes are below one leaf");
  } else if (nodes <= below || nodes % below != 0) {
    map.fault(key,
              std::to_string(nodes) + " nodes are no multiple of the " + std::to_string(below) + " of a switch below",
              "write a multiple, such as " + std::to_string(8 * below));
  }
}

void read_upper_tiers(MapReader& map, const std::string& path, spec::Fabric& fabric, Faults& faults) {
  const Value* list = map.child("upper_tiers");
  if (list == nullptr || list->kind == Value::Kind::null) return;
  if (list->kind != Value::Kind::list) {
    map.fault("upper_tiers", "is no list", "write [{nodes: 64, oversubscription: 2}], from the leaves upward");
    return;
  }
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const std::string at = path + ".upper_tiers[" + std::to_string(i) + "]";
    fabric.upper_tiers.push_back(read_tier(list->items[i], at, faults));
    const int below = i == 0 ? fabric.leaf_nodes : fabric.upper_tiers[i - 1].nodes;
    check_tier(map, "upper_tiers", fabric.upper_tiers.back().nodes, below);
  }
}

void read_dragonfly(MapReader& map, const std::string& path, spec::Fabric& fabric, Faults& faults) {
  map.read("groups", fabric.groups, 2, 1'000'000);
  map.read("routing", fabric.routing,
           {{"spray", spec::Fabric::Routing::spray}, {"minimal", spec::Fabric::Routing::minimal}});
  const Value* group = map.child("group");
  if (group == nullptr) {
    map.fault("group", "is missing", "write the nodes of a group: {nodes: 64, oversubscription: 1}");
    return;
  }
  fabric.upper_tiers.push_back(read_tier(*group, path + ".group", faults));
  check_tier(map, "group", fabric.upper_tiers.back().nodes, fabric.leaf_nodes);
}

void read_torus(MapReader& map, spec::Fabric& fabric) {
  if (map.require("shape", fabric.shape, 1, 1'000'000) && (fabric.shape.size() < 2 || fabric.shape.size() > 3)) {
    map.fault("shape", "has " + std::to_string(fabric.shape.size()) + " dimensions",
              "write two or three, such as [8, 8] or [4, 4, 4] nodes");
  }
  if (map.require("link", fabric.link) && !(fabric.link.si() > 0)) {
    map.fault("link", "is zero", "write the bandwidth between neighbours, such as 100GB/s");
  }
}

}  // namespace

spec::Fabric read_fabric(const Value& value, const std::string& path, Faults& faults) {
  spec::Fabric fabric;
  MapReader map(value, path, faults);
  map.read("name", fabric.name);
  map.require("kind", fabric.kind);
  if (fabric.kind != FabricKind::torus) {
    map.read("oversubscription", fabric.oversubscription, 1, 1000);
    map.read("leaf_nodes", fabric.leaf_nodes, 0, spec::kMostNodes);
    map.read("nodes", fabric.nodes, 1, spec::kMostNodes);
  }
  switch (fabric.kind) {
    case FabricKind::single_switch: break;
    case FabricKind::rail_optimized:
    case FabricKind::fat_tree:
    case FabricKind::nvl_rack:
      read_upper_tiers(map, path, fabric, faults);
      map.read("routing", fabric.routing,
               {{"spray", spec::Fabric::Routing::spray}, {"ecmp", spec::Fabric::Routing::ecmp}});
      break;
    case FabricKind::dragonfly: read_dragonfly(map, path, fabric, faults); break;
    case FabricKind::torus: read_torus(map, fabric); break;
  }
  map.require("hop_latency", fabric.hop_latency);
  map.read("nic_kind", fabric.nic_kind);
  map.read("port", fabric.port);
  map.read("in_switch_reduction", fabric.in_switch_reduction);
  map.ignore("calibration");
  map.finish();
  return fabric;
}

}  // namespace config
