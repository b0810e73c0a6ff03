// cli/residual_tables.h -- the points of residual plots as CSV files, for --residuals.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/result/calibration.h"

namespace cli {

/// NAME.csv of each table, in `folder`, which is made. Throws base::InputError.
void write_residuals(const std::vector<result::ResidualTable>& tables, const std::string& folder);

}  // namespace cli
