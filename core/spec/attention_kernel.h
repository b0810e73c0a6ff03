// core/spec/attention_kernel.h -- the kernels of attention, and what the rest of the house has to know of each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/names.h"

namespace spec {

/// sparse: each query with the keys that an indexer chose for it alone, on the latent vectors (FlashMLA forward,
/// cuDNN's DSA backward). mem_efficient: the kernel out of xFormers that PyTorch's scaled_dot_product_attention takes
/// where a mask is handed to it, a padded batch's or a bias, of which it computes the whole square.
enum class AttentionKernel { unfused, fused_softmax, flash1, flash2, flash3, cudnn, sparse, mem_efficient };
template <>
inline constexpr auto kNamesOf<AttentionKernel> = spelt("unfused", "fused_softmax", "flash1", "flash2", "flash3",
                                                        "cudnn", "sparse", "mem_efficient");
inline constexpr int kAttentionKernels = kNamesOf<AttentionKernel>.size();

/// Two batched matmuls with a softmax between them, whose scores go through memory.
constexpr bool writes_scores(AttentionKernel kernel) {
  return kernel == AttentionKernel::unfused || kernel == AttentionKernel::fused_softmax;
}

/// Takes values as wide as keys alone: narrower ones (latent attention) are padded. On `amd` GPUs flash2 stands for the
/// kernels of Composable Kernel and AITER, which take either width (ROCm/TransformerEngine fused_attn_ck.cpp,
/// is_ck_backend_supported, 2026).
constexpr bool wants_equal_heads(AttentionKernel kernel, bool amd) {
  return !amd && (kernel == AttentionKernel::flash1 || kernel == AttentionKernel::flash2);
}

}  // namespace spec
