// sim/cost/memory_bound.h -- time of kernels that wait for memory: norms, elementwise chains, optimizer, copies.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cost/price.h"

namespace sim {

///   time    kernels overhead + waits + (read + written) / (efficiency hbm)
/// So a small kernel's bandwidth grows with its size: half of the best at overhead x best bandwidth bytes.
/// Leaves out: hits in L2 of what a kernel before has just written. Fit and residual: docs/prices.md.
Price price_memory_bound(const plan::MemoryBound&, const Device&);

}  // namespace sim
