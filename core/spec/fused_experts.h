// core/spec/fused_experts.h -- experts whose activation and casts are part of their grouped matmuls (strategy.
// fused_kernels.experts): kernels of cuDNN's front end under Transformer Engine's operation fuser.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/spec/job.h"

namespace spec {

/// What of a Job such kernels do not take; empty: they do. Biases are added in them. Source:
/// ForwardGroupedMLP_CuTeGEMMSwiGLU_MXFP8 and its backward in transformer_engine/pytorch/ops/fused (2.14),
/// validate_grouped_mlp_dims in ops/_common.py (gpt-oss' clamped activation and widths of 64; 256 before),
/// TEFusedMLPWithGroupedLinear in Megatron Core. MLPerf v6.0 built 2.15 with cuDNN's front end 1.23.0 for gpt-oss, of
/// 2,880 numbers (gpt_oss_20b/implementations/nemo/Dockerfile).
std::string no_fused_experts(const Job&);

/// Fills fused_kernels.experts. Whole-step graphs of experts that drop no token have counts that the device alone
/// knows, which among Megatron's kernels these take (--moe-paged-stash and its capacity of a rank ask for
/// --use-transformer-engine-op-fuser). REQUIRES: cuda_graphs and etp are known.
void fill_fused_experts(Job&);

}  // namespace spec
