// core/spec/assumed_curves.h -- curves of kernels that a card's calibration does not have, from other cards'.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/job.h"

namespace spec {

/// Attention to chosen keys: FlashMLA's forward on H800, cuDNN's backward on H200, as shares of the peak.
const AttentionCurve& assumed_sparse_attention();

/// Scans by Triton's kernels as on H200, in the pace of the card's memory.
const RecurrenceCurve& assumed_scan(Recurrent::Kind);

/// Gives the Job's cards those that its model needs and they lack, so that they are among its inputs.
void assume_curves(Job&);

}  // namespace spec
