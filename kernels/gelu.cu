// kernels/gelu.cu -- see gelu.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gelu.cuh"

namespace kernels::gpu {
namespace {

/// dy null: y = gelu(x). Else y = dy gelu'(x).
template <class T, int V>
__global__ void gelu(Gelu kind, std::int64_t count, const T* x, const T* dy, T* y) {
  for (std::int64_t i = grid_index() * V; i < count; i += grid_stride() * V) {
    const Pack<T, V> in = load<V>(x + i);
    Pack<T, V> out;
    if (dy) {
      const Pack<T, V> grad = load<V>(dy + i);
      for (int j = 0; j < V; ++j) out.set(j, grad[j] * gelu_slope(kind, in[j]));
    } else {
      for (int j = 0; j < V; ++j) out.set(j, gelu_value(kind, in[j]));
    }
    store(y + i, out);
  }
}

void apply(Gelu kind, std::int64_t count, Element element, const void* x, const void* dy, void* y, Stream stream) {
  with_packs(element, packs(element, count, x, dy, y), [&]<class T, int V>() {
    launch(gelu<T, V>, {blocks_for(count / V), kBlock}, stream, kind, count, as<T>(x), as<T>(dy), as<T>(y));
  });
  check_launch("gelu");
}

}  // namespace

void gelu_forward(Gelu kind, std::int64_t count, Element element, const void* x, void* y, Stream stream) {
  apply(kind, count, element, x, nullptr, y, stream);
}

void gelu_backward(Gelu kind, std::int64_t count, Element element, const void* x, const void* dy, void* dx,
                   Stream stream) {
  apply(kind, count, element, x, dy, dx, stream);
}

}  // namespace kernels::gpu
