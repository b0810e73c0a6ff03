// real/memory/planned.h -- what the Plan says that a rank's memory comes to, in the order in which the host issues its
// changes: what a caching allocator sees, without a clock. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/memory/ledger.h"

namespace real {

/// After one step of the role; its peak is that of the step.
Ledger planned(const plan::Plan&, const plan::Role&);

}  // namespace real
