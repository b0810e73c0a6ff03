// cli/measure_on_cpu.h -- forerun measure JOB --backend cpu: trains a small job on this machine's CPU and prints what
// it learned. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/arguments.h"

namespace cli {

/// The exit code. Throws base::InputError, base::DeviceError.
int measure_on_cpu(const Arguments&);

}  // namespace cli
