// core/config/recorded_step.h -- a step that was recorded, by forerun or by PyTorch's profiler.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/config/recorded_trace.h"

namespace config {

/// read_recorded() of a file of forerun's; of a trace of PyTorch's profiler its step of median length, as read_kineto()
/// tells it. Throws as they do.
RecordedFile read_step(const std::string& path);

}  // namespace config
