// kernels/embedding_reference.cpp -- see embedding.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding.h"

namespace kernels::reference {

void embedding_forward(const Embedding& e, Indices ids, Input table, Output y) {
  for (std::int64_t token = 0; token < e.tokens; ++token) {
    const std::int64_t row = ids[token] - e.first;
    const bool here = row >= 0 && row < e.vocabulary;
    for (std::int64_t i = 0; i < e.width; ++i) y[token * e.width + i] = here ? table[row * e.width + i] : 0;
  }
}

void embedding_backward(const Embedding& e, Indices ids, Input dy, Output dtable) {
  for (std::int64_t token = 0; token < e.tokens; ++token) {
    const std::int64_t row = ids[token] - e.first;
    if (row < 0 || row >= e.vocabulary) continue;
    for (std::int64_t i = 0; i < e.width; ++i) dtable[row * e.width + i] += dy[token * e.width + i];
  }
}

}  // namespace kernels::reference
