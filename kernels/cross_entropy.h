// kernels/cross_entropy.h -- softmax and cross entropy over the vocabulary, whole or in the steps between which ranks
// that hold a part of the vocabulary each exchange maxima and sums. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

/// logits [rows, vocabulary] of the ids from `first` on. A negative target leaves its row out: loss and gradient 0.
struct CrossEntropy {
  std::int64_t rows = 0, vocabulary = 0, first = 0;
  double scale = 1;  // of the gradient: 1 / tokens of the batch, say
};

namespace reference {

/// loss [rows] = log(sum of exp(logits)) - logits[target]; logits become scale times the loss's gradient. REQUIRES:
/// every target below first + vocabulary.
void cross_entropy(const CrossEntropy&, Indices targets, Output logits, Output loss);

/// The same in four steps; between them, over the ranks of the vocabulary: maximum [rows] is all-reduced by max, total
/// and target_logit [rows] by sum. A target that another rank holds gives target_logit 0.
void cross_entropy_maximum(const CrossEntropy&, Input logits, Output maximum);
void cross_entropy_sums(const CrossEntropy&, Indices targets, Input logits, Input maximum, Output total,
                        Output target_logit);
void cross_entropy_loss(Indices targets, Input maximum, Input total, Input target_logit, Output loss);
void cross_entropy_gradient(const CrossEntropy&, Indices targets, Input maximum, Input total, Output logits);

}  // namespace reference

namespace gpu {

/// As the references: logits of `element`, all else fp32.
void cross_entropy(const CrossEntropy&, Element element, const std::int32_t* targets, void* logits, float* loss,
                   Stream);
void cross_entropy_maximum(const CrossEntropy&, Element element, const void* logits, float* maximum, Stream);
void cross_entropy_sums(const CrossEntropy&, Element element, const std::int32_t* targets, const void* logits,
                        const float* maximum, float* total, float* target_logit, Stream);
void cross_entropy_loss(std::int64_t rows, const std::int32_t* targets, const float* maximum, const float* total,
                        const float* target_logit, float* loss, Stream);
void cross_entropy_gradient(const CrossEntropy&, Element element, const std::int32_t* targets, const float* maximum,
                            const float* total, void* logits, Stream);

}  // namespace gpu
}  // namespace kernels
