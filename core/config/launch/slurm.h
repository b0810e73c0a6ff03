// core/config/launch/slurm.h -- a batch script around a framework's command.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/config/launch/framework.h"

namespace config::launch {

/// job.sbatch: nodes and GPUs of the job's cluster, and one launcher a node for the framework's `file` beside it.
File batch_script(const Export&, const Framework&, const std::string& file);

}  // namespace config::launch
