// sim/network/collective_accuracy.h -- prices of collectives beside measured ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/config/collective_case_reader.h"
#include "core/result/collectives.h"

namespace sim {

/// From this size on a collective is bound by bandwidth rather than by latency: rows are told apart there.
inline constexpr std::int64_t kLargeCollective = 1 << 20;

/// Prices every row and appends the sweeps, named by `file`. Throws base::InputError for an op that is not known.
void hold_against(const std::string& file, const std::vector<config::CollectiveSweep>&, result::CollectiveValidation&);

/// Fills groups (in the order of node, nodes, op) and the overall figures from the sweeps.
void summarise(result::CollectiveValidation&);

}  // namespace sim
