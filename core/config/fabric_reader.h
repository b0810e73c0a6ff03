// core/config/fabric_reader.h -- a fabric from its map (topologies/fabrics/*.yaml).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/config/map_reader.h"
#include "core/spec/cluster.h"

namespace config {

/// Reads name, kind, hop_latency, nic_kind, in_switch_reduction and what the kind has: oversubscription and leaf_nodes
/// of its leaves; upper_tiers (rail_optimized, fat_tree, nvl_rack); group, groups and routing (dragonfly); shape and
/// link (torus). `calibration` names a file and is left to the catalogue. `path` is the map's own ("cluster.fabric").
/// The map has no `base:` left.
spec::Fabric read_fabric(const Value& map, const std::string& path, Faults&);

}  // namespace config
