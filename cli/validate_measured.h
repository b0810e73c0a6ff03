// cli/validate_measured.h -- forerun validate [JOB] --measured TRACE: a prediction against a step that was recorded
// here. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/arguments.h"

namespace cli {

/// The exit code. Throws base::InputError.
int validate_measured(const Arguments&);

}  // namespace cli
