// sim/analysis/title.h -- a job in one line: model, machines, degrees, batch. What is off is not told.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/spec/job.h"

namespace sim {

/// "llama3-70b on 8 x dgx-h100 (64 GPUs): tp 4 sp, pp 4 x 5 chunks, dp 4, zero 1, batch 128 x 8192"
std::string title(const spec::Job&);

}  // namespace sim
