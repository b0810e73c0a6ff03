// core/config/measured_collectives.h -- collectives that others have timed, as their tables tell them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/base/units.h"
#include "core/spec/network_algorithm.h"

namespace config {

/// One row. Texts are the source's own words; core/config/collective_places.h says what cluster they mean.
struct MeasuredCollective {
  std::string op = {};  // as sim/network/collective_table.h names it
  std::string gpu = {}, intra = {};
  std::string inter = {};  // empty: inside a node
  std::string quality = {};
  std::int64_t bytes = 0;  // as nccl-tests counts them
  int ranks = 0, nodes = 0;
  int gpus_per_node = 0;                                   // that a node has, or that took part
  base::Seconds time = {};                                 // 0: the bus bandwidth tells it
  base::ByteRate bus = {}, bus_p95 = {};                   // of all runs; of their fastest twentieth; 0: not told
  spec::Algorithm algorithm = spec::Algorithm::automatic;  // that NCCL was told to take
  int source = 0;                                          // of KernelTables::sources
};

}  // namespace config
