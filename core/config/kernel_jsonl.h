// core/config/kernel_jsonl.h -- measured kernels of many kinds, one JSON object a line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/config/measured_kernels.h"

namespace config {

/// See read_kernels(); `path` may be packed.
void read_kernel_jsonl(const std::string& path, KernelTables&);

}  // namespace config
