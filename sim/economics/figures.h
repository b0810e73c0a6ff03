// sim/economics/figures.h -- every price and failure rate that a plan's answer rests on, with who said it and when.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/result/purchase.h"
#include "core/spec/purchase.h"

namespace sim {

/// Each once; what owning costs only where a candidate has a price to be owned at.
std::vector<result::PurchaseFigure> figures_of(const spec::Purchase&);

}  // namespace sim
