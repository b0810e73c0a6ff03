// core/config/network_reader.h -- a Job's `network` section as values.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config/map_reader.h"
#include "core/spec/job.h"

namespace config {

void read_network(const Value&, spec::Network&, Faults&);

}  // namespace config
