// reports/kernel_calibration.h -- fitted curves beside the rows they were fitted to: text, JSON and plots' data.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/calibration.h"
#include "reports/style.h"

namespace reports {

/// A line a curve and source: errors of log(predicted / measured) before and after.
std::string kernel_calibration_text(const result::KernelCalibration&, const Style& = {});
std::string kernel_calibration_json(const result::KernelCalibration&);
/// The table with its header.
std::string residuals_csv(const result::ResidualTable&);

}  // namespace reports
