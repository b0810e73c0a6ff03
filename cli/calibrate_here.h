// cli/calibrate_here.h -- forerun calibrate without tables: times this machine's GPUs and fits curves to that.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/arguments.h"

namespace cli {

/// Returns the exit code. Throws base::InputError, base::DeviceError.
int calibrate_here(const Arguments&);

}  // namespace cli
