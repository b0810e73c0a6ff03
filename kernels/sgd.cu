// kernels/sgd.cu -- see sgd.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/optimizer.cuh"
#include "kernels/sgd.h"

namespace kernels::gpu {
namespace {

struct Coefficients {
  float learning_rate, momentum, weight_decay;
};

template <class T, class M, int V>
__device__ void update(const Coefficients& c, float factor, const SgdTensor& tensor, std::int64_t i) {
  const Pack<float, V> gradient = load<V>(tensor.gradient + i);
  Pack<float, V> w = load<V>(tensor.master + i);
  M* const at_m = static_cast<M*>(tensor.m) + i;
  const Pack<M, V> old_m = load<V>(at_m);
  Pack<M, V> new_m;
  Pack<T, V> parameter;
  for (int j = 0; j < V; ++j) {
    const float m = c.momentum * old_m[j] + factor * gradient[j] + c.weight_decay * w[j];
    new_m.set(j, m);
    w.set(j, w[j] - c.learning_rate * m);
    parameter.set(j, w[j]);
  }
  store(at_m, new_m);
  store(tensor.master + i, w);
  if (tensor.parameter) store(static_cast<T*>(tensor.parameter) + i, parameter);
}

/// blockIdx.y names the tensor. Packs of four where all of its arrays begin at a multiple of 16 bytes, then the rest.
template <class T, class M>
__global__ void sgd_step(Coefficients c, const __grid_constant__ Batch<SgdTensor> batch, const float* device_factor) {
  const SgdTensor& t = batch.tensor[blockIdx.y];
  const float factor = device_factor ? *device_factor : 1;
  const bool wide = aligned(t.gradient) && aligned(t.master) && aligned(t.m) && aligned(t.parameter, 4 * sizeof(T));
  const std::int64_t packed = wide ? t.count / 4 * 4 : 0;
  for (std::int64_t i = grid_index() * 4; i < packed; i += grid_stride() * 4) update<T, M, 4>(c, factor, t, i);
  for (std::int64_t i = packed + grid_index(); i < t.count; i += grid_stride()) update<T, M, 1>(c, factor, t, i);
}

}  // namespace

void sgd(const Sgd& s, Element element, Element moments, std::span<const SgdTensor> tensors, const float* factor,
         Stream stream) {
  const Coefficients c{static_cast<float>(s.learning_rate), static_cast<float>(s.momentum),
                       static_cast<float>(s.weight_decay)};
  in_batches(tensors, [&](const Batch<SgdTensor>& batch, unsigned count, std::int64_t longest) {
    const dim3 grid(blocks_for(longest / 4 + 1), count);
    with_element(element, [&]<class T>() {
      with_element(moments, [&]<class M>() { launch(sgd_step<T, M>, {grid, kBlock}, stream, c, batch, factor); });
    });
    check_launch("sgd");
  });
}

}  // namespace kernels::gpu
