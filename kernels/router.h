// kernels/router.h -- which experts a token goes to: softmax of the router's logits, the best k with weights that add
// up to one, and the loss that keeps the experts evenly busy. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

struct Router {
  std::int64_t tokens = 0, experts = 0, top_k = 1;
  double auxiliary = 0;  // coefficient of the balance loss
};

namespace reference {

/// probabilities [tokens, experts] = softmax(logits); experts [tokens, top_k]: the largest, falling, the lower index
/// first where equal or no numbers; weights [tokens, top_k]: their probabilities over their sum.
void router_forward(const Router&, Input logits, Output probabilities, std::span<std::int32_t> experts, Output weights);

/// auxiliary experts sum over e of f_e P_e, f_e = counts[e] / (tokens top_k), P_e the mean probability.
/// Source: Fedus, Zoph, Shazeer, "Switch Transformers", 2022, equation 4. counts [experts]: choices of each expert.
double router_auxiliary_loss(const Router&, Input probabilities, Indices counts);

/// dlogits [tokens, experts] from dweights and from auxiliary_gradient times the gradient of the balance loss, whose
/// counts are constants.
void router_backward(const Router&, Input probabilities, Indices experts, Indices counts, Input dweights,
                     double auxiliary_gradient, Output dlogits);

}  // namespace reference

namespace gpu {

/// As the references, fp32 but for logits and dlogits. REQUIRES: top_k <= 32.
void router_forward(const Router&, Element element, const void* logits, float* probabilities, std::int32_t* experts,
                    float* weights, Stream);
/// Adds to *loss, on the device.
void router_auxiliary_loss(const Router&, const float* probabilities, const std::int32_t* counts, float* loss, Stream);
void router_backward(const Router&, Element element, const float* probabilities, const std::int32_t* experts,
                     const std::int32_t* counts, const float* dweights, double auxiliary_gradient, void* dlogits,
                     Stream);

}  // namespace gpu
}  // namespace kernels
