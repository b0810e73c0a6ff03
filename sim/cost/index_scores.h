// sim/cost/index_scores.h -- time of an indexer's scores on one GPU.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cost/price.h"

namespace sim {

/// Of all keys: FLOPs at the share of the peak that the `sparse` curve's `index` tells, or the bytes of queries, keys
/// and fp32 scores at a copy's pace, whichever takes longer. Of the keys that were chosen, which are gathered as those
/// of sparse attention are: FLOPs at that curve's pace forward and backward. Under the clock of a long step (power.h).
/// REQUIRES: the GPU's peak of the dtype is above 0. Source: docs/prices.md.
Price price_index_scores(const plan::IndexScores&, const Device&);

}  // namespace sim
