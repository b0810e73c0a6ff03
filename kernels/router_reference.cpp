// kernels/router_reference.cpp -- see router.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/router.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace kernels::reference {
namespace {

void softmax(Input logits, Output probabilities) {
  const double maximum = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) total += probabilities[i] = std::exp(logits[i] - maximum);
  for (double& p : probabilities) p /= total;
}

void choose(Input probabilities, std::span<std::int32_t> experts, Output weights) {
  std::vector<std::int32_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return probabilities[a] > probabilities[b]; });
  std::copy_n(order.begin(), experts.size(), experts.begin());
  double total = 0;
  for (std::int32_t e : experts) total += probabilities[e];
  for (std::size_t j = 0; j < experts.size(); ++j) weights[j] = probabilities[experts[j]] / total;
}

}  // namespace

void router_forward(const Router& r, Input logits, Output probabilities, std::span<std::int32_t> experts,
                    Output weights) {
  for (std::int64_t token = 0; token < r.tokens; ++token) {
    const Output row = probabilities.subspan(token * r.experts, r.experts);
    softmax(logits.subspan(token * r.experts, r.experts), row);
    choose(row, experts.subspan(token * r.top_k, r.top_k), weights.subspan(token * r.top_k, r.top_k));
  }
}

double router_auxiliary_loss(const Router& r, Input probabilities, Indices counts) {
  double loss = 0;
  for (std::int64_t token = 0; token < r.tokens; ++token) {
    for (std::int64_t e = 0; e < r.experts; ++e) loss += counts[e] * probabilities[token * r.experts + e];
  }
  const auto tokens = static_cast<double>(r.tokens);
  return r.auxiliary * static_cast<double>(r.experts) * loss / (tokens * tokens * static_cast<double>(r.top_k));
}

void router_backward(const Router& r, Input probabilities, Indices experts, Indices counts, Input dweights,
                     double auxiliary_gradient, Output dlogits) {
  const auto tokens = static_cast<double>(r.tokens);
  const double balance = auxiliary_gradient * r.auxiliary * static_cast<double>(r.experts) /
                         (tokens * tokens * static_cast<double>(r.top_k));
  std::vector<double> dprobability(r.experts);
  for (std::int64_t token = 0; token < r.tokens; ++token) {
    const Input p = probabilities.subspan(token * r.experts, r.experts);
    const Indices chosen = experts.subspan(token * r.top_k, r.top_k);
    double total = 0, mean = 0;  // of the chosen probabilities; of dweights under the weights
    for (std::int32_t e : chosen) total += p[e];
    for (std::int64_t j = 0; j < r.top_k; ++j) mean += dweights[token * r.top_k + j] * p[chosen[j]] / total;
    for (std::int64_t e = 0; e < r.experts; ++e) dprobability[e] = balance * counts[e];
    for (std::int64_t j = 0; j < r.top_k; ++j)
      dprobability[chosen[j]] += (dweights[token * r.top_k + j] - mean) / total;
    const double along = std::inner_product(p.begin(), p.end(), dprobability.begin(), 0.0);
    for (std::int64_t e = 0; e < r.experts; ++e) dlogits[token * r.experts + e] = p[e] * (dprobability[e] - along);
  }
}

}  // namespace kernels::reference
