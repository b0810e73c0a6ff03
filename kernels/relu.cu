// kernels/relu.cu -- see relu.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/relu.h"

namespace kernels::gpu {
namespace {

/// dy null: y = max(x, 0), or its square. Else y = dy times its slope.
template <class T, int V>
__global__ void relu(Relu kind, std::int64_t count, const T* x, const T* dy, T* y) {
  const bool squared = kind == Relu::squared;
  for (std::int64_t i = grid_index() * V; i < count; i += grid_stride() * V) {
    const Pack<T, V> in = load<V>(x + i);
    Pack<T, V> out;
    if (dy) {
      const Pack<T, V> grad = load<V>(dy + i);
      for (int j = 0; j < V; ++j) out.set(j, in[j] > 0 ? grad[j] * (squared ? 2 * in[j] : 1) : 0);
    } else {
      for (int j = 0; j < V; ++j) out.set(j, fmaxf(in[j], 0) * (squared ? fmaxf(in[j], 0) : 1));
    }
    store(y + i, out);
  }
}

void apply(Relu kind, std::int64_t count, Element element, const void* x, const void* dy, void* y, Stream stream) {
  with_packs(element, packs(element, count, x, dy, y), [&]<class T, int V>() {
    launch(relu<T, V>, {blocks_for(count / V), kBlock}, stream, kind, count, as<T>(x), as<T>(dy), as<T>(y));
  });
  check_launch("relu");
}

}  // namespace

void relu_forward(Relu kind, std::int64_t count, Element element, const void* x, void* y, Stream stream) {
  apply(kind, count, element, x, nullptr, y, stream);
}

void relu_backward(Relu kind, std::int64_t count, Element element, const void* x, const void* dy, void* dx,
                   Stream stream) {
  apply(kind, count, element, x, dy, dx, stream);
}

}  // namespace kernels::gpu
