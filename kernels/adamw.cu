// kernels/adamw.cu -- see adamw.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw.h"
#include "kernels/device.cuh"
#include "kernels/optimizer.cuh"

namespace kernels::gpu {
namespace {

template <class T, class M, int V>
__device__ void update(const AdamWCoefficients& c, float factor, const AdamWTensor& tensor, std::int64_t i) {
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

/// blockIdx.y names the tensor. Packs of four where all of its arrays begin at a multiple of 16 bytes, then the rest.
template <class T, class M>
__global__ void adamw_step(AdamWCoefficients c, const __grid_constant__ Batch<AdamWTensor> batch,
                           const float* device_factor) {
  const AdamWTensor& t = batch.tensor[blockIdx.y];
  const float factor = device_factor ? *device_factor : 1;
  const bool wide =
      aligned(t.gradient) && aligned(t.master) && aligned(t.m) && aligned(t.v) && aligned(t.parameter, 4 * sizeof(T));
  const std::int64_t packed = wide ? t.count / 4 * 4 : 0;
  for (std::int64_t i = grid_index() * 4; i < packed; i += grid_stride() * 4) update<T, M, 4>(c, factor, t, i);
  for (std::int64_t i = packed + grid_index(); i < t.count; i += grid_stride()) update<T, M, 1>(c, factor, t, i);
}

}  // namespace

void adamw(const AdamW& a, Element element, Element moments, std::span<const AdamWTensor> tensors, const float* factor,
           Stream stream) {
  in_batches(tensors, [&](const Batch<AdamWTensor>& batch, unsigned count, std::int64_t longest) {
    const dim3 grid(blocks_for(longest / 4 + 1), count);
    with_element(element, [&]<class T>() {
      with_element(moments, [&]<class M>() {
        launch(adamw_step<T, M>, {grid, kBlock}, stream, coefficients(a), batch, factor);
      });
    });
    check_launch("adamw");
  });
}

}  // namespace kernels::gpu
