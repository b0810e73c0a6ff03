// kernels/glu.cu -- see glu.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gelu.cuh"
#include "kernels/glu.h"

namespace kernels::gpu {
namespace {

__device__ float sigmoid(float x) { return 1 / (1 + __expf(-x)); }

constexpr auto kLimit = static_cast<float>(kGateLimit), kSteep = static_cast<float>(kGateSlope);

__device__ float value(Gate gate, float x) {
  if (gate == Gate::gelu) return gelu_value(Gelu::tanh, x);
  if (gate == Gate::silu) return x * sigmoid(x);
  const float m = fminf(x, kLimit);
  return m * sigmoid(kSteep * m);
}

__device__ float slope(Gate gate, float x) {
  if (gate == Gate::gelu) return gelu_slope(Gelu::tanh, x);
  if (gate == Gate::clamped && x > kLimit) return 0;
  const float steep = gate == Gate::clamped ? kSteep : 1, s = sigmoid(steep * x);
  return s * (1 + steep * x * (1 - s));
}

/// What a gate is multiplied with, and its slope.
__device__ float factor(Gate gate, float up) {
  return gate == Gate::clamped ? fminf(fmaxf(up, -kLimit), kLimit) + 1 : up;
}
__device__ float factor_slope(Gate gate, float up) { return gate == Gate::clamped && fabsf(up) > kLimit ? 0 : 1; }

template <class T, int V>
__global__ void gated(Gate kind, std::int64_t rows, std::int64_t width, const T* gate_up, T* y) {
  const std::int64_t row_packs = width / V;
  for (std::int64_t pack = grid_index(); pack < rows * row_packs; pack += grid_stride()) {
    const std::int64_t row = pack / row_packs, i = pack % row_packs * V;
    const Pack<T, V> gate = load<V>(gate_up + row * 2 * width + i), up = load<V>(gate_up + (row * 2 + 1) * width + i);
    Pack<T, V> out;
    for (int j = 0; j < V; ++j) out.set(j, value(kind, gate[j]) * factor(kind, up[j]));
    store(y + row * width + i, out);
  }
}

template <class T, int V>
__global__ void gated_gradient(Gate kind, std::int64_t rows, std::int64_t width, const T* gate_up, const T* dy,
                               T* dgate_up) {
  const std::int64_t row_packs = width / V;
  for (std::int64_t pack = grid_index(); pack < rows * row_packs; pack += grid_stride()) {
    const std::int64_t row = pack / row_packs, i = pack % row_packs * V;
    const std::int64_t at_gate = row * 2 * width + i, at_up = at_gate + width;
    const Pack<T, V> gate = load<V>(gate_up + at_gate), up = load<V>(gate_up + at_up),
                     grad = load<V>(dy + row * width + i);
    Pack<T, V> dgate, dup;
    for (int j = 0; j < V; ++j) {
      dgate.set(j, grad[j] * factor(kind, up[j]) * slope(kind, gate[j]));
      dup.set(j, grad[j] * value(kind, gate[j]) * factor_slope(kind, up[j]));
    }
    store(dgate_up + at_gate, dgate);
    store(dgate_up + at_up, dup);
  }
}

}  // namespace

void glu_forward(const Glu& g, Element element, const void* gate_up, void* y, Stream stream) {
  with_packs(element, packs(element, g.width, gate_up, y), [&]<class T, int V>() {
    launch(gated<T, V>, {blocks_for(g.rows * g.width / V), kBlock}, stream, g.gate, g.rows, g.width, as<T>(gate_up),
           as<T>(y));
  });
  check_launch("glu forward");
}

void glu_backward(const Glu& g, Element element, const void* gate_up, const void* dy, void* dgate_up, Stream stream) {
  with_packs(element, packs(element, g.width, gate_up, dy, dgate_up), [&]<class T, int V>() {
    launch(gated_gradient<T, V>, {blocks_for(g.rows * g.width / V), kBlock}, stream, g.gate, g.rows, g.width,
           as<T>(gate_up), as<T>(dy), as<T>(dgate_up));
  });
  check_launch("glu backward");
}

}  // namespace kernels::gpu
