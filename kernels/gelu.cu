// kernels/gelu.cu -- see gelu.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/gelu.h"

namespace kernels::gpu {
namespace {

constexpr float kRootTwoOverPi = 0.7978845608f, kRootHalf = 0.7071067812f, kDensityOfZero = 0.3989422804f;
constexpr float kCubic = 0.044715f;

__device__ float value(Gelu kind, float x) {
  if (kind == Gelu::erf) return 0.5f * x * (1 + erff(x * kRootHalf));
  return 0.5f * x * (1 + tanhf(kRootTwoOverPi * (x + kCubic * x * x * x)));
}

__device__ float slope(Gelu kind, float x) {
  if (kind == Gelu::erf) return 0.5f * (1 + erff(x * kRootHalf)) + x * kDensityOfZero * __expf(-0.5f * x * x);
  const float t = tanhf(kRootTwoOverPi * (x + kCubic * x * x * x));
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * kRootTwoOverPi * (1 + 3 * kCubic * x * x);
}

/// dy null: y = gelu(x). Else y = dy gelu'(x).
template <class T, int V>
__global__ void gelu(Gelu kind, std::int64_t count, const T* x, const T* dy, T* y) {
  for (std::int64_t i = grid_index() * V; i < count; i += grid_stride() * V) {
    const Pack<T, V> in = load<V>(x + i);
    Pack<T, V> out;
    if (dy) {
      const Pack<T, V> grad = load<V>(dy + i);
      for (int j = 0; j < V; ++j) out.set(j, grad[j] * slope(kind, in[j]));
    } else {
      for (int j = 0; j < V; ++j) out.set(j, value(kind, in[j]));
    }
    store(y + i, out);
  }
}

void launch(Gelu kind, std::int64_t count, Element element, const void* x, const void* dy, void* y, Stream stream) {
  with_packs(element, packs(element, count, x, dy, y), [&]<class T, int V>() {
    gelu<T, V><<<blocks_for(count / V), kBlock, 0, stream>>>(kind, count, as<T>(x), as<T>(dy), as<T>(y));
  });
  check_launch("gelu");
}

}  // namespace

void gelu_forward(Gelu kind, std::int64_t count, Element element, const void* x, void* y, Stream stream) {
  launch(kind, count, element, x, nullptr, y, stream);
}

void gelu_backward(Gelu kind, std::int64_t count, Element element, const void* x, const void* dy, void* dx,
                   Stream stream) {
  launch(kind, count, element, x, dy, dx, stream);
}

}  // namespace kernels::gpu
