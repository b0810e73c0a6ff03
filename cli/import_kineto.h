// cli/import_kineto.h -- forerun import kineto TRACE -o RECORDED [--step N]: a step of PyTorch's profiler as a recorded
// step. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/arguments.h"

namespace cli {

std::vector<Option> kineto_options();
/// The exit code. Throws base::InputError.
int import_kineto(const Arguments&);

}  // namespace cli
