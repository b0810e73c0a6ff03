// sim/calibrate/memory_fit.h -- curves of kernels that wait for memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/calibrate/measured_row.h"

namespace sim {

/// A smallest kernel that takes longer than this was issued no faster: its fixed time is the host's.
inline constexpr base::Seconds kHostBound = base::us(15);

/// Draws efficiency and overhead of a kind to rows of it; of fewer than 3 rows the efficiency alone. Where `smallest`,
/// the time of the smallest kernel of this kind, is above kHostBound, rows hold the host's time: the overhead that
/// stands there is kept, and what more they hold is returned. REQUIRES: a row.
base::Seconds fit_memory(Device&, int kind, const MeasuredRows&, base::Seconds smallest);

}  // namespace sim
