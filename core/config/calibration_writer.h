// core/config/calibration_writer.h -- curves of kernels become a file of topologies/calibrations.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/spec/calibration.h"

namespace config {

/// YAML that read_calibration() reads back: numbers with six digits, curves in the order of the spec, those that were
/// not calibrated left out. `comment` goes above, each line behind "# ".
std::string calibration_yaml(const spec::Calibration&, const std::string& comment);

}  // namespace config
