// core/config/cluster_reader.h -- the `cluster:` section of a Job: nodes of one kind or several, and what joins them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config/catalogue.h"
#include "core/config/map_reader.h"
#include "core/spec/cluster.h"

namespace config {

/// A fabric that is left out is the node's own.
spec::Cluster read_cluster(const Value&, const Catalogue&, Faults&);

}  // namespace config
