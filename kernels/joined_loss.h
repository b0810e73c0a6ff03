// kernels/joined_loss.h -- what joins softmaxes over parts of a vocabulary whose ranks have each gone on with the
// statistics of their own part (Yeung et al., arXiv 2411.05288, algorithms 1 and 2); cross_entropy.h has the rest.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

struct JoinedStates {
  std::int64_t rows = 0, width = 0;
  double scale = 1;  // of the gradient: 1 / tokens of the batch, say
};

namespace reference {

/// total [rows], the sum of exp(logits - own), becomes that of exp(logits - maximum). REQUIRES: maximum >= own.
void rescale_total(Input own, Input maximum, Output total);

/// states [rows, width] are softmax(own logits) W of a part, by own_maximum and own_total [rows]; target_rows the row
/// of W that is the target, zeros where another part has it. They become the part's share of the gradient of the
/// states: scale (states own_total / total exp(own_maximum - maximum) - target_rows); 0 for a negative target.
void join_states(const JoinedStates&, Indices targets, Input own_maximum, Input own_total, Input maximum, Input total,
                 Input target_rows, Output states);

}  // namespace reference

namespace gpu {

/// As the references: states and target_rows of `element`, all else fp32.
void rescale_total(std::int64_t rows, const float* own, const float* maximum, float* total, Stream);
void join_states(const JoinedStates&, Element element, const std::int32_t* targets, const float* own_maximum,
                 const float* own_total, const float* maximum, const float* total, const void* target_rows,
                 void* states, Stream);

}  // namespace gpu
}  // namespace kernels
