// core/config/uncertainty_reader.h -- the constants behind the 80 % interval (topologies/uncertainty.yaml).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config/map_reader.h"
#include "core/spec/uncertainty.h"

namespace config {

/// {stack, unmodelled: {faster, slower}, repeat, host, interference, copies, assumed_attention, assumed_norm,
/// assumed_option, outside_fit, scarce: {experts: {faster, slower}, ...}, source}; every key is required.
spec::Uncertainty read_uncertainty(const Value&, Faults&);

}  // namespace config
