// core/config/collective_case_reader.h -- measured collectives (validation/collectives/*.yaml).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/config/catalogue.h"
#include "core/spec/cluster.h"
#include "core/spec/network_algorithm.h"

namespace config {

struct CollectiveSweep {
  std::string op;  // of nccl-tests, as sim/network/collective_table.h names it
  spec::Cluster cluster;
  int gpus = 0;                                            // of each node that took part
  spec::Algorithm algorithm = spec::Algorithm::automatic;  // that NCCL was told to take
  std::vector<std::int64_t> bytes;
  std::vector<base::Seconds> times;  // one for each of `bytes`
};

/// `source` (any) and `groups:`, each {op, node, nodes, gpus, fabric, algorithm, in_place, bytes: [...], us: [...]}.
/// Throws base::InputError with every fault of the file.
std::vector<CollectiveSweep> read_collective_cases(const std::string& path, const Catalogue&);

/// The cluster of a map with node, fabric (left out: the node's own) and nodes (left out: 1).
spec::Cluster read_measured_cluster(MapReader&, const Catalogue&, Faults&);

}  // namespace config
