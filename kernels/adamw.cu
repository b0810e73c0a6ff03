// kernels/adamw.cu -- see adamw.h. One launch updates up to 64 tensors, which its arguments name.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/adamw.h"
#include "kernels/device.cuh"

namespace kernels::gpu {
namespace {

constexpr int kTensors = 64;  // 48 bytes each, of the 4 KB that a launch's arguments may take

struct Batch {
  AdamWTensor tensor[kTensors];
};

struct Coefficients {
  float learning_rate, beta1, beta2, epsilon, weight_decay, correct_m, correct_v;
};

template <class T, class M, int V>
__device__ void update(const Coefficients& c, float factor, const AdamWTensor& tensor, std::int64_t i) {
  Pack<float, V> gradient = load<V>(tensor.gradient + i), w = load<V>(tensor.master + i);
  M *const at_m = static_cast<M*>(tensor.m) + i, *const at_v = static_cast<M*>(tensor.v) + i;
  const Pack<M, V> old_m = load<V>(at_m), old_v = load<V>(at_v);
  Pack<M, V> new_m, new_v;
  Pack<T, V> parameter;
  for (int j = 0; j < V; ++j) {
    const float g = factor * gradient[j];
    const float m = c.beta1 * old_m[j] + (1 - c.beta1) * g, v = c.beta2 * old_v[j] + (1 - c.beta2) * g * g;
    const float step = m * c.correct_m / (sqrtf(v * c.correct_v) + c.epsilon);
    new_m.set(j, m);
    new_v.set(j, v);
    w.set(j, w[j] - c.learning_rate * (step + c.weight_decay * w[j]));
    parameter.set(j, w[j]);
  }
  store(at_m, new_m);
  store(at_v, new_v);
  store(tensor.master + i, w);
  if (tensor.parameter) store(static_cast<T*>(tensor.parameter) + i, parameter);
}

__device__ bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

/// blockIdx.y names the tensor. Packs of four where all of its arrays begin at a multiple of 16 bytes, then the rest.
template <class T, class M>
__global__ void adamw_step(Coefficients c, const __grid_constant__ Batch batch, const float* device_factor) {
  const AdamWTensor& t = batch.tensor[blockIdx.y];
  const float factor = device_factor ? *device_factor : 1;
  const bool wide = aligned(t.gradient) && aligned(t.master) && aligned(t.m) && aligned(t.v) && aligned(t.parameter);
  const std::int64_t packed = wide ? t.count / 4 * 4 : 0;
  for (std::int64_t i = grid_index() * 4; i < packed; i += grid_stride() * 4) update<T, M, 4>(c, factor, t, i);
  for (std::int64_t i = packed + grid_index(); i < t.count; i += grid_stride()) update<T, M, 1>(c, factor, t, i);
}

Coefficients coefficients(const AdamW& a) {
  const auto at = static_cast<double>(a.step);
  return {static_cast<float>(a.learning_rate),
          static_cast<float>(a.beta1),
          static_cast<float>(a.beta2),
          static_cast<float>(a.epsilon),
          static_cast<float>(a.weight_decay),
          static_cast<float>(1 / (1 - std::pow(a.beta1, at))),
          static_cast<float>(1 / (1 - std::pow(a.beta2, at)))};
}

}  // namespace

void adamw(const AdamW& a, Element element, Element moments, std::span<const AdamWTensor> tensors, const float* factor,
           Stream stream) {
  while (!tensors.empty()) {
    const std::size_t some = std::min<std::size_t>(tensors.size(), kTensors);
    Batch batch{};
    std::copy_n(tensors.begin(), some, batch.tensor);
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < some; ++i) longest = std::max(longest, tensors[i].count);
    const dim3 grid(blocks_for(longest / 4 + 1), static_cast<unsigned>(some));
    with_element(element, [&]<class T>() {
      with_element(moments, [&]<class M>() {
        launch(adamw_step<T, M>, {grid, kBlock}, stream, coefficients(a), batch, factor);
      });
    });
    check_launch("adamw");
    tensors = tensors.subspan(some);
  }
}

}  // namespace kernels::gpu
