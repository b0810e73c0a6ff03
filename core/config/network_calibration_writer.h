// core/config/network_calibration_writer.h -- curves of collectives as a file that read_network_calibration() reads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/spec/network_calibration.h"

namespace config {

/// YAML with `comment` (lines without "#") on top. Six digits of each number are kept.
std::string network_calibration_yaml(const spec::NetworkCalibration&, const std::string& comment);

}  // namespace config
