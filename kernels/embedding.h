// kernels/embedding.h -- rows of a table by token id, of the whole vocabulary or of one rank's range of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

/// The table [vocabulary, width] holds the ids from `first` on. A token outside of it reads zeros and teaches nothing,
/// so that vocabulary-parallel ranks may add up what they have.
struct Embedding {
  std::int64_t tokens = 0, width = 0, vocabulary = 0, first = 0;
};

namespace reference {

/// y [tokens, width]
void embedding_forward(const Embedding&, Indices ids, Input table, Output y);
/// Adds to dtable [vocabulary, width].
void embedding_backward(const Embedding&, Indices ids, Input dy, Output dtable);

}  // namespace reference

namespace gpu {

void embedding_forward(const Embedding&, Element element, const std::int32_t* ids, const void* table, void* y, Stream);
/// fp32 atomics: the order in which a frequent token's gradients are added is not fixed.
void embedding_backward(const Embedding&, Element element, const std::int32_t* ids, const void* dy, float* dtable,
                        Stream);

}  // namespace gpu
}  // namespace kernels
