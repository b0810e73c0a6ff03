// SPDX-License-Identifier: Apache-2.0
#include "cli/residual_tables.h"

#include <filesystem>
#include <ostream>

#include "cli/output.h"
#include "reports/kernel_calibration.h"

namespace cli {

void write_residuals(const std::vector<result::ResidualTable>& tables, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const result::ResidualTable& table : tables) {
    write_to(std::filesystem::path(folder) / (table.name + ".csv"), "--residuals",
             [&](std::ostream& out) { out << reports::residuals_csv(table); });
  }
}

}  // namespace cli
