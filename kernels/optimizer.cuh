// kernels/optimizer.cuh -- what the optimizers share: many tensors a launch, which its arguments name, and the
// coefficients of an AdamW step. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "kernels/adamw.h"
#include "kernels/device.cuh"

namespace kernels::gpu {

/// A launch's arguments may take 4 KB; what is beside the tensors takes less than one.
template <class Tensor>
inline constexpr int kTensorsOfALaunch = 3072 / sizeof(Tensor);

template <class Tensor>
struct Batch {
  Tensor tensor[kTensorsOfALaunch<Tensor>];
};

/// Calls body(batch, its tensors, elements of the longest of them) until all have had their turn.
template <class Tensor, class Body>
void in_batches(std::span<const Tensor> tensors, Body body) {
  while (!tensors.empty()) {
    const std::size_t some = std::min<std::size_t>(tensors.size(), kTensorsOfALaunch<Tensor>);
    Batch<Tensor> batch{};
    std::copy_n(tensors.begin(), some, batch.tensor);
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < some; ++i) longest = std::max(longest, tensors[i].count);
    body(batch, static_cast<unsigned>(some), longest);
    tensors = tensors.subspan(some);
  }
}

struct AdamWCoefficients {
  float learning_rate, beta1, beta2, epsilon, weight_decay, correct_m, correct_v;
};

inline AdamWCoefficients coefficients(const AdamW& a) {
  const auto at = static_cast<double>(a.step);
  return {static_cast<float>(a.learning_rate),
          static_cast<float>(a.beta1),
          static_cast<float>(a.beta2),
          static_cast<float>(a.epsilon),
          static_cast<float>(a.weight_decay),
          static_cast<float>(1 / (1 - std::pow(a.beta1, at))),
          static_cast<float>(1 / (1 - std::pow(a.beta2, at)))};
}

}  // namespace kernels::gpu
