// kernels/softmax.cu -- see softmax.h. A block takes a row. SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/softmax.h"

namespace kernels::gpu {
namespace {

/// Softmax::sees, for the device; `document` holds where each token's begins, or is null.
__device__ bool sees(const Softmax& s, const std::int32_t* document, std::int64_t query, std::int64_t key) {
  if (document && document[query] != document[key]) return false;
  if (s.causal && key > query) return false;
  if (s.window > 0 && query - key >= s.window) return false;
  return s.chunk == 0 || query / s.chunk == key / s.chunk;
}

template <class T>
__global__ void softmax_rows(Softmax s, const T* scores, const T* sinks, const std::int32_t* begins, T* probabilities,
                             float* lse) {
  for (std::int64_t row = blockIdx.x; row < s.matrices * s.queries; row += gridDim.x) {
    const std::int64_t query = row % s.queries;
    const T* in = scores + row * s.keys;
    T* out = probabilities + row * s.keys;
    const std::int64_t head = row / s.queries % s.heads;
    const std::int32_t* document = begins ? begins + row / s.queries / s.heads * s.queries : nullptr;
    const auto slope = static_cast<float>(s.alibi.slope(head));
    const auto score = [&](std::int64_t key) {
      const std::int64_t behind = query - key;
      return to_float(in[key]) - slope * static_cast<float>(behind < 0 ? -behind : behind);
    };
    const float sink = sinks ? to_float(sinks[head]) : -INFINITY;
    float most = sink, sum = 0;
    for (std::int64_t key = threadIdx.x; key < s.keys; key += blockDim.x) {
      if (sees(s, document, query, key)) most = fmaxf(most, score(key));
    }
    most = block_reduce<Maximum>(most);
    for (std::int64_t key = threadIdx.x; key < s.keys; key += blockDim.x) {
      if (sees(s, document, query, key)) sum += __expf(score(key) - most);
    }
    sum = block_reduce(sum) + __expf(sink - most);
    if (lse && threadIdx.x == 0) lse[row] = most + logf(sum);
    for (std::int64_t key = threadIdx.x; key < s.keys; key += blockDim.x) {
      out[key] = from_float<T>(sees(s, document, query, key) ? __expf(score(key) - most) / sum : 0);
    }
  }
}

template <class T>
__global__ void softmax_rows_gradient(Softmax s, const T* probabilities, const T* dprobabilities, T* dscores) {
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

void softmax_forward(const Softmax& s, Element element, const void* scores, const void* sinks,
                     const std::int32_t* begins, void* probabilities, float* lse, Stream stream) {
  if (s.matrices * s.queries == 0) return;
  with_element(element, [&]<class T>() {
    launch(softmax_rows<T>, {blocks_for(s.matrices * s.queries, 1), threads_for(s.keys)}, stream, s, as<T>(scores),
           as<T>(sinks), begins, as<T>(probabilities), lse);
  });
  check_launch("softmax forward");
}

void softmax_backward(const Softmax& s, Element element, const void* probabilities, const void* dprobabilities,
                      void* dscores, Stream stream) {
  if (s.matrices * s.queries == 0) return;
  with_element(element, [&]<class T>() {
    launch(softmax_rows_gradient<T>, {blocks_for(s.matrices * s.queries, 1), threads_for(s.keys)}, stream, s,
           as<T>(probabilities), as<T>(dprobabilities), as<T>(dscores));
  });
  check_launch("softmax backward");
}

}  // namespace kernels::gpu
