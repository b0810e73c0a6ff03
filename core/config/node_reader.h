// core/config/node_reader.h -- a node and its links from its map (topologies/nodes/*.yaml).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/config/map_reader.h"
#include "core/spec/cluster.h"

namespace config {

/// Reads all but what lies in files of its own: gpu, links and fabric are left to the catalogue. `nic.count` left out
/// is one card a GPU. `path` is the map's own ("cluster.node"). The map has no `base:` left.
spec::Node read_node(const Value& map, const std::string& path, Faults&);

/// A node's map laid over its base's. What depends on the number of GPUs follows it unless written: the cards (one a
/// GPU) and an NVLink domain that was the whole node. A `gpu` map without a base changes the base's GPU.
Value merged_node(Value base, Value over);

}  // namespace config
