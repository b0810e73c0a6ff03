// cli/collective_cluster.h -- the cluster of subcommands that price collectives without a Job: --node, --nodes, --gpus,
// --fabric.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "core/base/fault.h"
#include "core/config/catalogue.h"
#include "core/spec/cluster.h"

namespace cli {

struct CollectiveCluster {
  spec::Cluster cluster;
  int gpus = 0;  // of each node that take part
};

std::vector<Option> cluster_options();

/// A whole number of at least 1; a fault that names the option otherwise.
std::optional<int> count_of(const Arguments&, const std::string& option, int otherwise, std::vector<base::Fault>&);

/// The node's tree, as the catalogue's expanded() returns it, and --fabric, which goes before the node's own; none
/// where neither names one.
std::optional<spec::Fabric> fabric_from(const Arguments&, const config::Value& node, const config::Catalogue&,
                                        std::vector<base::Fault>&);

/// Reads node and fabric as a Job's would be read. Appends every fault; the answer is sound when there is none.
CollectiveCluster cluster_from(const Arguments&, const config::Catalogue&, std::vector<base::Fault>&);

}  // namespace cli
