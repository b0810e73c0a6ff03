// core/config/network_calibration_reader.h -- curves of collectives from their map
// (topologies/calibrations/network/*.yaml).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/config/map_reader.h"
#include "core/spec/network_calibration.h"

namespace config {

/// Reads all_reduce, all_gather, reduce_scatter, all_to_all and send (all required), broadcast (left out: as
/// all_gather), tree, nvls, collnet and pat (left out: not offered) and sources. A curve: efficiency, latency, hop
/// (required); ramp, local, decay, low_latency and ll128 {efficiency, latency, hop}, covered {from, to, fewest_ranks,
/// most_ranks, rows}, residual, measured, source. `name` is the calibration's (its file's stem) and stands before the
/// fields in messages.
spec::NetworkCalibration read_network_calibration(const Value& map, const std::string& name, Faults&);

}  // namespace config
