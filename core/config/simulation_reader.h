// core/config/simulation_reader.h -- the section `simulation` of a Job: how it is run, and what is slow or gone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config/map_reader.h"
#include "core/spec/job.h"

namespace config {

void read_simulation(const Value&, spec::Simulation&, Faults&);

}  // namespace config
