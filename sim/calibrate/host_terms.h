// sim/calibrate/host_terms.h -- what steps pay for their host: told beside fits, for no table of kernels holds it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/spec/framework.h"

namespace sim {

/// A line a framework: its times to issue kernels and collectives, and that they are assumed.
std::vector<std::string> host_terms(const std::vector<spec::Framework>&);

}  // namespace sim
