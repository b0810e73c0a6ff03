// sim/economics/figures.h -- every price and failure rate that a plan's answer rests on, with who said it and when.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/result/purchase.h"
#include "core/spec/purchase.h"

namespace sim {

/// Each once; what owning costs only where a candidate has a price to be owned at.
std::vector<result::PurchaseFigure> figures_of(const spec::Purchase&);
/// What is to be said where the rents of the candidates are asked by different sellers; empty: they are not.
std::string note_of_sellers(const spec::Purchase&);

}  // namespace sim
