// core/config/calibration_reader.h -- topologies/calibrations/*.yaml becomes curves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/config/map_reader.h"
#include "core/spec/calibration.h"

namespace config {

/// Reads the file's tree. `name` is the catalogue's; a file that calls itself otherwise is a fault. Faults are appended
/// with their places, and what could not be read keeps its default.
spec::Calibration read_calibration(const Value& map, const std::string& name, Faults& faults);

}  // namespace config
