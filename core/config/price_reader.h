// core/config/price_reader.h -- what GPUs, nodes and power cost: topologies/prices.yaml, and a user's own file or map
// laid over it, figure by figure. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/map_reader.h"
#include "core/spec/purchase.h"

namespace config {

/// A price of the user's own.
struct OwnPrice {
  std::string path, of, list;  // "prices.rent.h100-sxm", "h100-sxm", "rent"
  base::Where where;
};

struct PriceList {
  std::map<std::string, spec::Figure<base::TimePrice>> rent;  // of one GPU, by the name of a GPU or of a node
  std::map<std::string, spec::Figure<base::Money>> buy;       // of one node, by its name
  spec::Ownership ownership;
  std::vector<OwnPrice> own;
  bool is_own(std::string_view list, std::string_view name) const;
};

/// `own`: a map, laid over the file that its `base` names, the path of a file, or null. Faults are noted with their
/// places.
PriceList read_prices(const Value* own, const Catalogue&, Faults&);

/// A fault for each price of the user's own that is of no GPU or node of the catalogue and of no candidate.
void refuse_strangers(const PriceList&, const std::vector<spec::Candidate>&, const Catalogue&, Faults&);

/// Failure rates and checkpoints' bandwidth, likewise: topologies/failures.yaml under `own` and `checkpoint`.
void read_failures(const Value* own, const Value* checkpoint, const Catalogue&, spec::Failures&, spec::Checkpointing&,
                   Faults&);

}  // namespace config
