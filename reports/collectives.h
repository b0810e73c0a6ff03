// reports/collectives.h -- views of collectives priced by size, and of such prices beside measurements.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/collectives.h"
#include "reports/style.h"

namespace reports {

std::string collective_text(const result::CollectiveTable&, const Style& = {});
std::string collective_csv(const result::CollectiveTable&);
/// {"schema": 1, "op", "node", ..., "rows": [...], "warnings"}; keys are the fields of result::CollectiveTable.
std::string collective_json(const result::CollectiveTable&);

/// Medians by node, nodes and op, for a terminal, for docs/network.md, and every row for scripts.
std::string collectives_text(const result::CollectiveValidation&, const Style& = {});
std::string collectives_markdown(const result::CollectiveValidation&);
std::string collectives_json(const result::CollectiveValidation&);

}  // namespace reports
