// core/config/kernel_csv.h -- sweeps of matmuls and of attention, one row a shape.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/config/measured_kernels.h"

namespace config {

/// See read_kernels(); `path` may be packed.
void read_kernel_csv(const std::string& path, KernelTables&);

}  // namespace config
