// core/config/collective_places.h -- which cluster of the catalogue a measured collective ran on
// (topologies/collective_places.yaml).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/measured_kernels.h"
#include "core/spec/cluster.h"

namespace config {

/// A rule. Of its conditions those that are empty or 0 hold for every row.
struct Place {
  std::string gpu, intra, inter, quality, op;  // beginnings of the row's texts; inter "none": inside a node
  std::string source;                          // a part of the row's
  int gpus_per_node = 0;
  int above_nodes = 0;     // rows of more nodes
  base::Bytes below;       // smaller rows
  std::vector<int> ranks;  // one of these
  std::string leave_out;   // why such rows are not fitted to; empty: they are, on `cluster`
  bool fastest = false;    // the 95th percentile of bandwidth stands for the row
  spec::Cluster cluster;   // its nodes are the row's
};

/// Reads `places:`, a list of maps with the fields above as keys, `node` and `fabric`. Throws base::InputError with
/// every fault of the file.
std::vector<Place> read_places(const std::string& path, const Catalogue&);

/// The first place whose conditions the row meets; nullptr: none. `source` is the row's, in words.
const Place* place_of(const MeasuredCollective&, const std::string& source, const std::vector<Place>&);

}  // namespace config
