// cli/import.h -- what `forerun import FORMAT` does, by format.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace cli {

/// nccl-tests: curves of a machine's network.
int import_network(const Arguments&);

/// A framework's configuration, or a model's: a Job.
int import_job(const Arguments&);
/// {"megatron", "torchtitan", ...}: the formats of import_job.
std::vector<std::string> job_formats();
bool is_job_format(const std::string&);

}  // namespace cli
