// sim/calibrate/nccl_logs.h -- logs of nccl-tests become curves of a node's links or of a fabric.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/config/nccl_log.h"
#include "core/result/network_import.h"
#include "core/spec/cluster.h"

namespace sim {

struct CalibratedNetwork {
  spec::NetworkCalibration calibration;
  bool fabric = false;  // curves between nodes; otherwise inside a node or NVLink domain
  result::NetworkImport report;
};

/// `cluster` has the node, the fabric and the number of nodes that the logs were taken on; `nodes_given`: that number
/// stands above what a log tells of its hosts. `gpus` of each node took part where a log does not tell its ranks.
/// Collectives that no log has keep the cluster's own curves, marked as not measured.
/// Throws base::InputError: ranks that the cluster does not have, logs of different paths, no row at all.
CalibratedNetwork calibrate(const std::vector<config::NcclLog>&, const spec::Cluster&, bool nodes_given, int gpus);

}  // namespace sim
