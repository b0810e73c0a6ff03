// sim/calibrate/residuals.h -- how far prices are from measured rows: figures, and points for plots.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/result/calibration.h"
#include "sim/calibrate/collective_rows.h"
#include "sim/calibrate/measured_row.h"

namespace sim {

/// Of log(predicted / measured); all 0 where there is no row.
result::LogErrors figures(const std::vector<double>& log_errors);

/// Gathers points family by family: at most 60 of a curve and source, every so many rows.
class Residuals {
 public:
  Residuals();
  void add(const result::CurveFit&, const MeasuredRows&, const config::KernelTables&, const Device&);
  std::vector<result::ResidualTable> tables() && { return std::move(tables_); }

 private:
  std::vector<result::ResidualTable> tables_;
};

/// The same for collectives.
class CollectiveResiduals {
 public:
  CollectiveResiduals();
  void add(const result::CurveFit&, const PlacedRows&, const config::KernelTables&, const std::vector<spec::Cluster>&);
  result::ResidualTable table() && { return std::move(table_); }

 private:
  result::ResidualTable table_;
};

}  // namespace sim
