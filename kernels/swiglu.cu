// kernels/swiglu.cu -- see swiglu.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/swiglu.h"

namespace kernels::gpu {
namespace {

__device__ float sigmoid(float x) { return 1 / (1 + __expf(-x)); }

template <class T, int V>
__global__ void forward(std::int64_t rows, std::int64_t width, const T* gate_up, T* y) {
  const std::int64_t row_packs = width / V;
  for (std::int64_t pack = grid_index(); pack < rows * row_packs; pack += grid_stride()) {
    const std::int64_t row = pack / row_packs, i = pack % row_packs * V;
    const Pack<T, V> gate = load<V>(gate_up + row * 2 * width + i), up = load<V>(gate_up + (row * 2 + 1) * width + i);
    Pack<T, V> out;
    for (int j = 0; j < V; ++j) out.set(j, gate[j] * sigmoid(gate[j]) * up[j]);
    store(y + row * width + i, out);
  }
}

template <class T, int V>
__global__ void backward(std::int64_t rows, std::int64_t width, const T* gate_up, const T* dy, T* dgate_up) {
  const std::int64_t row_packs = width / V;
  for (std::int64_t pack = grid_index(); pack < rows * row_packs; pack += grid_stride()) {
    const std::int64_t row = pack / row_packs, i = pack % row_packs * V;
    const std::int64_t at_gate = row * 2 * width + i, at_up = at_gate + width;
    const Pack<T, V> gate = load<V>(gate_up + at_gate), up = load<V>(gate_up + at_up),
                     grad = load<V>(dy + row * width + i);
    Pack<T, V> dgate, dup;
    for (int j = 0; j < V; ++j) {
      const float s = sigmoid(gate[j]);
      dgate.set(j, grad[j] * up[j] * s * (1 + gate[j] * (1 - s)));
      dup.set(j, grad[j] * gate[j] * s);
    }
    store(dgate_up + at_gate, dgate);
    store(dgate_up + at_up, dup);
  }
}

}  // namespace

void swiglu_forward(const Swiglu& s, Element element, const void* gate_up, void* y, Stream stream) {
  with_packs(element, packs(element, s.width, gate_up, y), [&]<class T, int V>() {
    forward<T, V><<<blocks_for(s.rows * s.width / V), kBlock, 0, stream>>>(s.rows, s.width, as<T>(gate_up), as<T>(y));
  });
  check_launch("swiglu forward");
}

void swiglu_backward(const Swiglu& s, Element element, const void* gate_up, const void* dy, void* dgate_up,
                     Stream stream) {
  with_packs(element, packs(element, s.width, gate_up, dy, dgate_up), [&]<class T, int V>() {
    backward<T, V><<<blocks_for(s.rows * s.width / V), kBlock, 0, stream>>>(s.rows, s.width, as<T>(gate_up), as<T>(dy),
                                                                            as<T>(dgate_up));
  });
  check_launch("swiglu backward");
}

}  // namespace kernels::gpu
