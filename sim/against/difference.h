// sim/against/difference.h -- a predicted and a recorded step of one job, held against one another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/result/difference.h"
#include "core/trace/recorded.h"

namespace sim {

/// Of one rank: `rank` of the recorded step, or else the one whose compute stream works longest there; the predicted
/// one is the same rank, or else the first of its stage. Operators with counterparts are told by name and phase, those
/// without apart, waiting by the operator that waits, idle time by what began behind it; where the record has kernels,
/// all by family. Steps last from their first operator's start to their last one's end, or to the next step's begin
/// where that is known and later. What `job`, `trace` and `notes` are, the caller knows. Throws base::InputError: no
/// such rank, a record without operators, or with none of the prediction's.
result::StepDifference difference(const trace::Recorded& predicted, const trace::Recorded& measured,
                                  std::optional<int> rank = {});

}  // namespace sim
