// kernels/gradient_norm.cu -- see gradient_norm.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/gradient_norm.h"

namespace kernels::gpu {
namespace {

template <int V>
__global__ void square(std::int64_t count, const float* values, double* total) {
  float sum = 0;
  for (std::int64_t i = grid_index() * V; i < count; i += grid_stride() * V) {
    const Pack<float, V> pack = load<V>(values + i);
    for (int j = 0; j < V; ++j) sum += pack[j] * pack[j];
  }
  sum = block_reduce(sum);
  if (threadIdx.x == 0) atomicAdd(total, static_cast<double>(sum));
}

__global__ void add_part(const double* part, double* total) { *total += *part; }

__global__ void clip(const double* squared_norm, double max_norm, float* factor, float* norm) {
  const double found = sqrt(*squared_norm);
  *factor = static_cast<float>(found > max_norm ? max_norm / found : 1);
  if (norm) *norm = static_cast<float>(found);
}

template <int V>
__global__ void scale_gradients(const float* factor, std::int64_t count, float* values) {
  const float by = *factor;  // read once: what is written could be it, for all that the compiler knows
  const std::int64_t step = grid_stride() * V;
  for (std::int64_t i = grid_index() * V; i < count; i += kTogether * step) {
    Pack<float, V> pack[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (i + k * step < count) pack[k] = load<V>(values + i + k * step);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (i + k * step >= count) continue;
      for (int j = 0; j < V; ++j) pack[k].element[j] *= by;
      store(values + i + k * step, pack[k]);
    }
  }
}

}  // namespace

void squared_norm(std::int64_t count, const float* values, double* total, Stream stream) {
  if (packs(Element::f32, count, values)) {
    launch(square<4>, {blocks_for(count / 4, kBlock, kFewBlocks), kBlock}, stream, count, values, total);
  } else {
    launch(square<1>, {blocks_for(count, kBlock, kFewBlocks), kBlock}, stream, count, values, total);
  }
  check_launch("squared norm");
}

void add_total(const double* part, double* total, Stream stream) {
  launch(add_part, {1, 1}, stream, part, total);
  check_launch("sum of squared norms");
}

void clip_factor(const double* squared_norm, double max_norm, float* factor, float* norm, Stream stream) {
  launch(clip, {1, 1}, stream, squared_norm, max_norm, factor, norm);
  check_launch("clip factor");
}

void scale_by(const float* factor, std::int64_t count, float* values, Stream stream) {
  const auto with = [&](auto kernel, std::int64_t packs) {
    launch(kernel, {blocks_for(packs, kBlock * kTogether), kBlock}, stream, factor, count, values);
  };
  packs(Element::f32, count, values) ? with(scale_gradients<4>, count / 4) : with(scale_gradients<1>, count);
  check_launch("scale by");
}

}  // namespace kernels::gpu
