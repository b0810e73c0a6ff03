// kernels/squared_relu.cu -- see squared_relu.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/squared_relu.h"

namespace kernels::gpu {
namespace {

/// dy null: y = max(x, 0)^2. Else y = dy times its slope.
template <class T, int V>
__global__ void squared_relu(std::int64_t count, const T* x, const T* dy, T* y) {
  for (std::int64_t i = grid_index() * V; i < count; i += grid_stride() * V) {
    const Pack<T, V> in = load<V>(x + i);
    Pack<T, V> out;
    if (dy) {
      const Pack<T, V> grad = load<V>(dy + i);
      for (int j = 0; j < V; ++j) out.set(j, grad[j] * 2 * fmaxf(in[j], 0));
    } else {
      for (int j = 0; j < V; ++j) out.set(j, fmaxf(in[j], 0) * fmaxf(in[j], 0));
    }
    store(y + i, out);
  }
}

void launch(std::int64_t count, Element element, const void* x, const void* dy, void* y, Stream stream) {
  with_packs(element, packs(element, count, x, dy, y), [&]<class T, int V>() {
    squared_relu<T, V><<<blocks_for(count / V), kBlock, 0, stream>>>(count, as<T>(x), as<T>(dy), as<T>(y));
  });
  check_launch("squared_relu");
}

}  // namespace

void squared_relu_forward(std::int64_t count, Element element, const void* x, void* y, Stream stream) {
  launch(count, element, x, nullptr, y, stream);
}

void squared_relu_backward(std::int64_t count, Element element, const void* x, const void* dy, void* dx,
                           Stream stream) {
  launch(count, element, x, dy, dx, stream);
}

}  // namespace kernels::gpu
