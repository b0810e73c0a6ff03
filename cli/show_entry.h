// cli/show_entry.h -- forerun show NAME [--json FILE]: one catalogue entry, or a file, with everything filled in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/arguments.h"

namespace cli {

/// REQUIRES: an operand. Throws base::InputError where the entry is unknown or unsound.
int show_entry(const Arguments&);

}  // namespace cli
