// sim/calibrate/collective_rows.h -- measured collectives as works of the plan on clusters of the catalogue.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/config/collective_places.h"
#include "core/config/measured_kernels.h"
#include "core/plan/work.h"
#include "core/spec/cluster.h"

namespace sim {

struct PlacedCollective {
  plan::Collective work;
  spec::Algorithm algorithm;
  base::Seconds time;
  std::size_t on = 0;  // of PlacedCollectives::clusters
  int source = 0;      // of KernelTables::sources
  std::string gpu;     // as its source names it
};
using PlacedRows = std::vector<PlacedCollective>;

/// One collective over one kind of path. The order is that of fitting: groups that leave their node are priced with
/// the curves of its links, too.
struct CollectiveFamily {
  bool fabric = false;
  std::string calibration;  // of topologies/calibrations/network
  plan::CollectiveKind kind{};
  auto operator<=>(const CollectiveFamily&) const = default;
};

struct PlacedCollectives {
  std::vector<spec::Cluster> clusters;
  std::map<CollectiveFamily, PlacedRows> families;
  std::map<std::string, int> left_out;  // why, and how many rows
};

PlacedCollectives placed(const config::KernelTables&, const std::vector<config::Place>&);

/// The curves of a cluster that collectives of the path run by.
spec::NetworkCalibration& path_of(spec::Cluster&, bool fabric);

/// log(predicted / measured) of each row. `clusters`: those that the rows were placed on, with any curves.
std::vector<double> log_errors(const PlacedRows&, const std::vector<spec::Cluster>&);

}  // namespace sim
