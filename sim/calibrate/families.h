// sim/calibrate/families.h -- measured rows of one GPU, parted by the curve that prices them and by who measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "sim/calibrate/measured_row.h"

namespace sim {

/// A curve of a calibration. The order is that of fitting: attention is priced with the copy's bandwidth, groups with
/// the dtype's curve.
struct Family {
  enum class What { memory, matmul, grouped, attention, narrow_attention };
  What what = What::memory;
  int which = 0;  // kind of memory, dtype or kernel
  auto operator<=>(const Family&) const = default;
};
std::string name(const Family&);  // "matmul bf16"

struct FamilyRows {
  std::map<std::string, MeasuredRows> by_repository;
  std::map<std::string, base::Seconds> smallest;  // of all rows of a repository, those too that are not fitted
  /// Who has the most rows; of equals the first by name. Empty: no row.
  std::string largest() const;
};

/// The rows of the calibration's GPU that can be priced and are fit to fit a curve to; the others are counted by
/// reason.
std::map<Family, FamilyRows> families_of(const config::KernelTables&, const Device&,
                                         std::map<std::string, int>& left_out);

}  // namespace sim
