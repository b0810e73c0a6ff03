// sim/cost/recurrence.h -- time of one pass over the chunks of a recurrent layer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cost/price.h"

namespace sim {

/// Bytes that the library's kernels of one pass read and write, each tensor once a kernel: the chunks' inputs, their
/// products and the states between them go through memory, for none of the usual libraries keeps them on the chip
/// (state-spaces/mamba mamba_ssm/ops/triton/ssd_*.py, fla-org/flash-linear-attention fla/ops/gated_delta_rule, 2025).
double scan_bytes(const plan::Recurrence&);

/// time = kernels x overhead + chunks of a sequence x chunk + bytes / (fraction x HBM bandwidth); all three are the
/// curve's, of that pass and kind. A sequence's states are passed on chunk by chunk, so that time stays where few heads
/// leave the GPU idle. The fraction is not bandwidth alone: a Triton kernel takes as long on GB200 as on H200.
/// docs/prices.md has the rows.
Price price_recurrence(const plan::Recurrence&, const Device&);

}  // namespace sim
