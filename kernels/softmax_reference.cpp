// kernels/softmax_reference.cpp -- see softmax.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kernels::reference {

void softmax_forward(const Softmax& s, Input scores, Input sinks, Indices begins, Output probabilities, Output lse) {
  for (std::int64_t row = 0; row < s.matrices * s.queries; ++row) {
    const std::int64_t query = row % s.queries, head = row / s.queries % s.heads;
    const Input in = scores.subspan(row * s.keys, s.keys);
    const Output out = probabilities.subspan(row * s.keys, s.keys);
    const Indices document = begins.empty() ? begins : begins.subspan(row / s.queries / s.heads * s.queries, s.queries);
    const auto sees = [&](std::int64_t key) {
      return s.sees(query, key) && (document.empty() || document[query] == document[key]);
    };
    const auto score = [&](std::int64_t key) { return in[key] + s.alibi.bias(head, query - key); };
    double most = sinks.empty() ? -std::numeric_limits<double>::infinity() : sinks[head];
    for (std::int64_t key = 0; key < s.keys; ++key) {
      if (sees(key)) most = std::max(most, score(key));
    }
    double sum = sinks.empty() ? 0 : std::exp(sinks[head] - most);
    for (std::int64_t key = 0; key < s.keys; ++key) {
      out[key] = sees(key) ? std::exp(score(key) - most) : 0;
      sum += out[key];
    }
    for (double& p : out) p /= sum;
    if (!lse.empty()) lse[row] = most + std::log(sum);
  }
}

void softmax_backward(const Softmax& s, Input probabilities, Input dprobabilities, Output dscores) {
  for (std::int64_t row = 0; row < s.matrices * s.queries; ++row) {
    const Input p = probabilities.subspan(row * s.keys, s.keys), dp = dprobabilities.subspan(row * s.keys, s.keys);
    const Output ds = dscores.subspan(row * s.keys, s.keys);
    double along = 0;
    for (std::int64_t key = 0; key < s.keys; ++key) along += p[key] * dp[key];
    for (std::int64_t key = 0; key < s.keys; ++key) ds[key] = p[key] * (dp[key] - along);
  }
}

}  // namespace kernels::reference
