// kernels/softmax.cu -- see softmax.h. A block takes a row. SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/softmax.h"

namespace kernels::gpu {
namespace {

/// Softmax::sees, for the device.
__device__ bool sees(const Softmax& s, std::int64_t query, std::int64_t key) {
  if (s.causal && key > query) return false;
  if (s.window > 0 && query - key >= s.window) return false;
  return s.chunk == 0 || query / s.chunk == key / s.chunk;
}

template <class T>
__global__ void forward(Softmax s, const T* scores, const T* sinks, T* probabilities, float* lse) {
  for (std::int64_t row = blockIdx.x; row < s.matrices * s.queries; row += gridDim.x) {
    const std::int64_t query = row % s.queries;
    const T* in = scores + row * s.keys;
    T* out = probabilities + row * s.keys;
    const float sink = sinks ? to_float(sinks[row / s.queries % s.heads]) : -INFINITY;
    float most = sink, sum = 0;
    for (std::int64_t key = threadIdx.x; key < s.keys; key += blockDim.x) {
      if (sees(s, query, key)) most = fmaxf(most, to_float(in[key]));
    }
    most = block_reduce<Maximum>(most);
    for (std::int64_t key = threadIdx.x; key < s.keys; key += blockDim.x) {
      if (sees(s, query, key)) sum += __expf(to_float(in[key]) - most);
    }
    sum = block_reduce(sum) + __expf(sink - most);
    if (lse && threadIdx.x == 0) lse[row] = most + logf(sum);
    for (std::int64_t key = threadIdx.x; key < s.keys; key += blockDim.x) {
      out[key] = from_float<T>(sees(s, query, key) ? __expf(to_float(in[key]) - most) / sum : 0);
    }
  }
}

template <class T>
__global__ void backward(Softmax s, const T* probabilities, const T* dprobabilities, T* dscores) {
  for (std::int64_t row = blockIdx.x; row < s.matrices * s.queries; row += gridDim.x) {
    const std::int64_t begin = row * s.keys;
    float along = 0;
    for (std::int64_t key = threadIdx.x; key < s.keys; key += blockDim.x) {
      along += to_float(probabilities[begin + key]) * to_float(dprobabilities[begin + key]);
    }
    along = block_reduce(along);
    for (std::int64_t key = threadIdx.x; key < s.keys; key += blockDim.x) {
      const float p = to_float(probabilities[begin + key]), dp = to_float(dprobabilities[begin + key]);
      dscores[begin + key] = from_float<T>(p * (dp - along));
    }
  }
}

}  // namespace

void softmax_forward(const Softmax& s, Element element, const void* scores, const void* sinks, void* probabilities,
                     float* lse, Stream stream) {
  if (s.matrices * s.queries == 0) return;
  with_element(element, [&]<class T>() {
    forward<T><<<blocks_for(s.matrices * s.queries, 1), threads_for(s.keys), 0, stream>>>(
        s, as<T>(scores), as<T>(sinks), as<T>(probabilities), lse);
  });
  check_launch("softmax forward");
}

void softmax_backward(const Softmax& s, Element element, const void* probabilities, const void* dprobabilities,
                      void* dscores, Stream stream) {
  if (s.matrices * s.queries == 0) return;
  with_element(element, [&]<class T>() {
    backward<T><<<blocks_for(s.matrices * s.queries, 1), threads_for(s.keys), 0, stream>>>(
        s, as<T>(probabilities), as<T>(dprobabilities), as<T>(dscores));
  });
  check_launch("softmax backward");
}

}  // namespace kernels::gpu
