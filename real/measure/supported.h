// real/measure/supported.h -- what the GPUs' part of real mode lacks beside what real mode lacks altogether.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/base/fault.h"
#include "core/plan/plan.h"
#include "core/spec/job.h"

namespace real {

/// Everything that keeps a job from being measured on `ranks` GPUs, each by name; unsupported() (executor.h) included.
/// Needs no GPU.
std::vector<base::Fault> unsupported_on_gpu(const spec::Job&, const plan::Plan&, int ranks);

}  // namespace real
