// core/spec/attention_again.h -- what computing attention again in the backward is good for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/attention_kernel.h"

namespace spec {

/// Whether that frees memory: scores, or the wide result of sparse attention in its latent form. What one kernel makes
/// of queries, keys and values is kept by the projection behind it anyway.
constexpr bool frees_when_again(AttentionKernel kernel) {
  return writes_scores(kernel) || kernel == AttentionKernel::sparse;
}

}  // namespace spec
