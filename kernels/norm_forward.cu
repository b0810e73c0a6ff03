// kernels/norm_forward.cu -- see norm.h. A block takes a row. SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/norm.h"

namespace kernels::gpu {
namespace {

template <class T>
struct Forward {
  std::int64_t rows, width;
  float epsilon;
  bool centred;
  const T *x, *residual, *weight, *bias;
  T *sum, *y;
  float *mean, *rstd;

  /// x + residual, rounded as `sum` keeps it.
  template <int V>
  __device__ Pack<T, V> value(std::int64_t at) const {
    Pack<T, V> pack = load<V>(x + at);
    if (residual) {
      const Pack<T, V> other = load<V>(residual + at);
      for (int j = 0; j < V; ++j) pack.set(j, pack[j] + other[j]);
    }
    return pack;
  }
};

template <class T, int V>
__global__ void normalize(Forward<T> p) {
  const auto width = static_cast<float>(p.width);
  for (std::int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const std::int64_t begin = row * p.width;
    const std::int64_t first = threadIdx.x * V, stride = blockDim.x * V;
    float mean = 0, square = 0;
    if (p.centred) {
      for (std::int64_t i = first; i < p.width; i += stride) {
        const Pack<T, V> value = p.template value<V>(begin + i);
        for (int j = 0; j < V; ++j) mean += value[j];
      }
      mean = block_reduce(mean) / width;
    }
    for (std::int64_t i = first; i < p.width; i += stride) {
      const Pack<T, V> value = p.template value<V>(begin + i);
      for (int j = 0; j < V; ++j) square += (value[j] - mean) * (value[j] - mean);
    }
    const float rstd = rsqrtf(block_reduce(square) / width + p.epsilon);
    for (std::int64_t i = first; i < p.width; i += stride) {
      const Pack<T, V> value = p.template value<V>(begin + i), weight = load<V>(p.weight + i);
      Pack<T, V> y;
      for (int j = 0; j < V; ++j)
        y.set(j, (value[j] - mean) * rstd * weight[j] + (p.bias ? to_float(p.bias[i + j]) : 0));
      if (p.sum) store(p.sum + begin + i, value);
      store(p.y + begin + i, y);
    }
    if (threadIdx.x == 0) {
      p.rstd[row] = rstd;
      if (p.mean) p.mean[row] = mean;
    }
  }
}

}  // namespace

void norm_forward(const Norm& n, Element element, const void* x, const void* residual, const void* weight,
                  const void* bias, void* sum, void* y, float* mean, float* rstd, Stream stream) {
  if (n.rows == 0) return;
  with_packs(element, packs(element, n.width, x, residual, weight, sum, y), [&]<class T, int V>() {
    const Forward<T> arguments{n.rows,
                               n.width,
                               static_cast<float>(n.epsilon),
                               n.kind == NormKind::layer,
                               as<T>(x),
                               as<T>(residual),
                               as<T>(weight),
                               as<T>(bias),
                               as<T>(sum),
                               as<T>(y),
                               mean,
                               rstd};
    launch(normalize<T, V>, {blocks_for(n.rows, 1), threads_for(n.width / V)}, stream, arguments);
  });
  check_launch("norm forward");
}

}  // namespace kernels::gpu
