// kernels/attention_sinks.cu -- see attention_sinks.h. A block takes a token; in the gradient a head, so that
// the order of addition is fixed. SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_sinks.h"
#include "kernels/device.cuh"

namespace kernels::gpu {
namespace {

constexpr int kHeadThreads = 512;  // of the gradient's blocks, which are as few as there are heads

/// The statistic when the sink takes part.
__device__ float with_sink(float lse, float sink) {
  const float high = fmaxf(lse, sink);
  return high + logf(__expf(lse - high) + __expf(sink - high));
}

template <class T, int V>
__global__ void scale_rows(Attention a, const T* sinks, T* out, const float* lse) {
  const int packs_of_head = static_cast<int>(a.value_dim / V), count = static_cast<int>(a.heads) * packs_of_head;
  for (std::int64_t token = blockIdx.x; token < a.batch * a.queries; token += gridDim.x) {
    const std::int64_t batch = token / a.queries, query = token - batch * a.queries;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
      T* const at = out + (token * count + i) * V;
      Pack<T, V> pack = load<V>(at);
      const int head = i / packs_of_head;
      const float before = lse[(batch * a.heads + head) * a.queries + query];
      const float kept = __expf(before - with_sink(before, to_float(sinks[head])));
      for (int j = 0; j < V; ++j) pack.set(j, kept * pack[j]);
      store(at, pack);
    }
  }
}

template <class T>
__global__ void add_sinks(Attention a, const T* sinks, float* lse) {
  for (std::int64_t i = grid_index(); i < a.batch * a.heads * a.queries; i += grid_stride()) {
    lse[i] = with_sink(lse[i], to_float(sinks[i / a.queries % a.heads]));
  }
}

template <class T, int V>
__global__ void __launch_bounds__(kHeadThreads)
    sinks_gradient(Attention a, const T* sinks, const T* out, const float* lse, const T* dout, float* dsinks) {
  const std::int64_t head = blockIdx.x, packs_of_head = a.value_dim / V;
  const std::int64_t step = blockDim.x, count = a.batch * a.queries * packs_of_head;
  const float sink = to_float(sinks[head]);
  float sum = 0;
  for (std::int64_t first = threadIdx.x; first < count; first += kTogether * step) {
    Pack<T, V> value[kTogether], gradient[kTogether];
    float statistic[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const std::int64_t i = first + k * step;
      if (i >= count) continue;
      const std::int64_t token = i / packs_of_head, batch = token / a.queries;
      const std::int64_t at = (token * a.heads + head) * a.value_dim + (i - token * packs_of_head) * V;
      value[k] = load<V>(out + at);
      gradient[k] = load<V>(dout + at);
      statistic[k] = lse[(batch * a.heads + head) * a.queries + token - batch * a.queries];
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (first + k * step >= count) continue;
      float along = 0;
      for (int j = 0; j < V; ++j) along += gradient[k][j] * value[k][j];
      sum += __expf(sink - statistic[k]) * along;
    }
  }
  sum = block_reduce(sum);
  if (threadIdx.x == 0) dsinks[head] -= sum;
}

}  // namespace

void attention_sinks_forward(const Attention& a, Element element, const void* sinks, void* out, float* lse,
                             Stream stream) {
  if (a.batch * a.heads * a.queries == 0) return;
  with_packs(element, packs(element, a.value_dim, out), [&]<class T, int V>() {
    const Grid grid{blocks_for(a.batch * a.queries, 1), threads_for(a.heads * a.value_dim / V)};
    launch(scale_rows<T, V>, grid, stream, a, as<T>(sinks), as<T>(out), lse);
    launch(add_sinks<T>, {blocks_for(a.batch * a.heads * a.queries), kBlock}, stream, a, as<T>(sinks), lse);
  });
  check_launch("attention sinks forward");
}

void attention_sinks_backward(const Attention& a, Element element, const void* sinks, const void* out, const float* lse,
                              const void* dout, float* dsinks, Stream stream) {
  if (a.batch * a.heads * a.queries == 0) return;
  with_packs(element, packs(element, a.value_dim, out, dout), [&]<class T, int V>() {
    launch(sinks_gradient<T, V>, {static_cast<unsigned>(a.heads), kHeadThreads}, stream, a, as<T>(sinks), as<T>(out),
           lse, as<T>(dout), dsinks);
  });
  check_launch("attention sinks backward");
}

}  // namespace kernels::gpu
