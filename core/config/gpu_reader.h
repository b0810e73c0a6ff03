// core/config/gpu_reader.h -- a GPU's data sheet from its map (topologies/gpus/*.yaml).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/config/map_reader.h"
#include "core/spec/gpu.h"

namespace config {

/// Reads name, generation, sms, clock, peak {dtype}, memory, hbm, l2, power, calibration. `path` is the map's own
/// ("gpu"). The map has no `base:` left.
spec::Gpu read_gpu(const Value& map, const std::string& path, Faults&);

}  // namespace config
