// core/config/change_reader.h -- "nic=2x,hbm=+30%,gpu.peak=1.2PFLOP/s" becomes changes of a job's inputs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/spec/change.h"

namespace config {

/// NAME=2x multiplies, NAME=+30% and NAME=-30% change, NAME=VALUE sets, with its unit; commas part them. Where a name
/// stands for several inputs, VALUE is of the first, and the others change as much. An unknown name (with the nearest),
/// a wrong unit and a name twice are refused each by itself. `option`: what the faults call it.
spec::Changes read_changes(std::string_view text, const spec::Job&, std::string_view option);

}  // namespace config
