// cli/measured_run.h -- what a run measured, as a page tells it: of GPUs from the file that the workers wrote, of the
// CPU from the run itself. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/measured_run.h"
#include "core/result/training_run.h"
#include "real/measure/measurement.h"

namespace cli {

/// `json`: of real/measure/measurement.h. Throws base::DeviceError where it is something else.
result::MeasuredRun run_on_gpus(const std::string& json);
result::MeasuredRun run_on_cpu(const result::TrainingRun&, const real::MemoryUse&);

}  // namespace cli
