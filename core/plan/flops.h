// core/plan/flops.h -- FLOPs of a step by formula, the numerators of MFU and HFU.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/job.h"

namespace plan {

/// FLOPs of one forward of one sequence; a multiply-add counts as two. Only matmuls count, and of attention what the
/// mask leaves: half of the square when causal, the band of a window or its chunks.
struct ForwardFlops {
  double linear = 0;     // qkv, output projection and feed-forward of one layer, experts as far as a token visits them;
                         // averaged over layers with and without experts
  double attention = 0;  // scores and values of one layer, averaged over layers with and without a window or chunks
  double head = 0;       // output head
};
/// `document`: tokens of the documents that share a sequence; 0: it is one.
ForwardFlops forward_flops(const spec::Model&, std::int64_t sequence, std::int64_t document = 0);

/// Of one step over all ranks. Training: three forwards. Without mask this is Narayanan et al.'s formula (SC'21, eq.
/// 2): 72 B s L h^2 (1 + s/6h + V/12hL).
double model_flops(const spec::Job&);
/// The same plus what recomputation adds: 96 B s L h^2 (1 + s/6h + V/16hL) for full recompute. What a fused attention
/// kernel computes again inside its backward is not counted, as in the published figures.
double hardware_flops(const spec::Job&);

}  // namespace plan
