// kernels/cross_entropy_reference.cpp -- see cross_entropy.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cross_entropy.h"

namespace kernels::reference {

void cross_entropy_maximum(const CrossEntropy& c, Input logits, Output maximum) {
  for (std::int64_t row = 0; row < c.rows; ++row) {
    const Input values = logits.subspan(row * c.vocabulary, c.vocabulary);
    maximum[row] = *std::max_element(values.begin(), values.end());
  }
}

void cross_entropy_sums(const CrossEntropy& c, Indices targets, Input logits, Input maximum, Output total,
                        Output target_logit) {
  for (std::int64_t row = 0; row < c.rows; ++row) {
    total[row] = 0;
    for (double value : logits.subspan(row * c.vocabulary, c.vocabulary)) total[row] += std::exp(value - maximum[row]);
    const std::int64_t target = targets[row] - c.first;
    const bool here = targets[row] >= 0 && target >= 0 && target < c.vocabulary;
    target_logit[row] = here ? logits[row * c.vocabulary + target] : 0;
  }
}

void cross_entropy_loss(Indices targets, Input maximum, Input total, Input target_logit, Output loss) {
  for (std::size_t row = 0; row < targets.size(); ++row) {
    loss[row] = targets[row] < 0 ? 0 : maximum[row] + std::log(total[row]) - target_logit[row];
  }
}

void cross_entropy_gradient(const CrossEntropy& c, Indices targets, Input maximum, Input total, Output logits) {
  for (std::int64_t row = 0; row < c.rows; ++row) {
    const double scale = targets[row] < 0 ? 0 : c.scale;
    for (std::int64_t i = 0; i < c.vocabulary; ++i) {
      double& logit = logits[row * c.vocabulary + i];
      const double probability = std::exp(logit - maximum[row]) / total[row];
      logit = scale * (probability - (c.first + i == targets[row] ? 1 : 0));
    }
  }
}

void cross_entropy(const CrossEntropy& c, Indices targets, Output logits, Output loss) {
  std::vector<double> maximum(c.rows), total(c.rows), target_logit(c.rows);
  cross_entropy_maximum(c, logits, maximum);
  cross_entropy_sums(c, targets, logits, maximum, total, target_logit);
  cross_entropy_loss(targets.first(c.rows), maximum, total, target_logit, loss);
  cross_entropy_gradient(c, targets, maximum, total, logits);
}

}  // namespace kernels::reference
