// core/config/purchase_reader.h -- a plan file (docs/plan.md), flags and --set become a spec::Purchase.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "core/config/catalogue.h"
#include "core/config/document.h"
#include "core/spec/purchase.h"

namespace config {

/// Throws base::InputError with every fault of the plan, of its prices and failures, and of the catalogue files it
/// names. `jobs`: takes the tree of each cluster's Job, by Candidate::cluster.
spec::Purchase read_purchase(const Value& tree, const Catalogue&, std::map<int, Value>* jobs = nullptr);

/// "15e12", "15T", "300B"
base::Parsed<double> parse_tokens(std::string_view);

}  // namespace config
