// kernels/capacity.cu -- see capacity.h. A thread counts who goes before its choice.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/capacity.h"
#include "kernels/device.cuh"

namespace kernels::gpu {
namespace {

/// What is no number goes first: every choice has a place among the others, so that no expert takes too many.
__device__ float rank_of(float weight) { return weight == weight ? weight : INFINITY; }

__global__ void drop_latest(std::int64_t choices, std::int64_t capacity, const std::int32_t* experts,
                            const float* weights, std::int32_t* kept) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= choices) return;
  const std::int32_t expert = experts[i];
  const float weight = rank_of(weights[i]);
  std::int64_t before = 0;
  for (std::int64_t j = 0; j < choices; ++j) {
    const float other = rank_of(weights[j]);
    before += experts[j] == expert && (other > weight || (other == weight && j < i));
  }
  kept[i] = before < capacity ? expert : -1;
}

}  // namespace

void drop_choices(const Permute& p, const std::int32_t* experts, const float* weights, std::int32_t* kept,
                  Stream stream) {
  const std::int64_t choices = p.tokens * p.top_k;
  if (choices == 0) return;
  const auto blocks = static_cast<unsigned>((choices + kBlock - 1) / kBlock);
  launch(drop_latest, {blocks, kBlock}, stream, choices, p.capacity, experts, weights, kept);
  check_launch("drop choices");
}

}  // namespace kernels::gpu
