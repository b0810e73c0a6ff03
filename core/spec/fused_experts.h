// core/spec/fused_experts.h -- experts whose activation and casts are part of their grouped matmuls (strategy.
// fused_kernels.experts): kernels of cuDNN's front end under Transformer Engine's operation fuser.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/spec/job.h"

namespace spec {

/// What of a Job such kernels do not take; empty: they do. Biases are added in them. Source:
/// ForwardGroupedMLP_CuTeGEMMSwiGLU_MXFP8 and its backward in transformer_engine/pytorch/ops/fused,
/// fuse_grouped_mlp_ops in ops/_common.py (2.14; gpt-oss' clamped activation since 2.15), TEFusedMLPWithGroupedLinear
/// in Megatron Core (2026).
std::string no_fused_experts(const Job&);

/// Fills fused_kernels.experts. Whole-step graphs of experts that drop no token have counts that the device alone
/// knows, which among Megatron's kernels these take (--moe-paged-stash and its capacity of a rank ask for
/// --use-transformer-engine-op-fuser). REQUIRES: cuda_graphs and etp are known.
void fill_fused_experts(Job&);

}  // namespace spec
