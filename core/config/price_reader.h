// core/config/price_reader.h -- what GPUs, nodes and power cost: topologies/prices.yaml, and a user's own file or map
// laid over it, figure by figure. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "core/config/catalogue.h"
#include "core/config/map_reader.h"
#include "core/spec/purchase.h"

namespace config {

struct PriceList {
  std::map<std::string, spec::Figure<base::TimePrice>> rent;  // of one GPU, by the name of a GPU or of a node
  std::map<std::string, spec::Figure<base::Money>> buy;       // of one node, by its name
  spec::Ownership ownership;
};

/// `own`: a map, the path of a file, or null. Faults are noted with their places.
PriceList read_prices(const Value* own, const Catalogue&, Faults&);

/// Failure rates and checkpoints' bandwidth, likewise: topologies/failures.yaml under `own` and `checkpoint`.
void read_failures(const Value* own, const Value* checkpoint, const Catalogue&, spec::Failures&, spec::Checkpointing&,
                   Faults&);

}  // namespace config
