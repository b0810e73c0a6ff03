// kernels/attention_sinks.cu -- see attention_sinks.h. A warp takes a row; in the gradient a block takes a head, so
// that the order of addition is fixed. SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_sinks.h"
#include "kernels/device.cuh"

namespace kernels::gpu {
namespace {

/// Query `query` of a head of a sequence: where its numbers begin, and its statistic.
struct RowOfStatistics {
  std::int64_t begin, statistic;

  __device__ RowOfStatistics(const Attention& a, std::int64_t batch, std::int64_t head, std::int64_t query)
      : begin(((batch * a.queries + query) * a.heads + head) * a.value_dim),
        statistic((batch * a.heads + head) * a.queries + query) {}
};

template <class T>
__global__ void add_sinks(Attention a, const T* sinks, T* out, float* lse) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp; i < a.batch * a.heads * a.queries;
       i += static_cast<std::int64_t>(gridDim.x) * kWarps) {
    const std::int64_t head = i / a.queries % a.heads;
    const RowOfStatistics row(a, i / a.queries / a.heads, head, i % a.queries);
    const float sink = to_float(sinks[head]), before = lse[row.statistic], high = fmaxf(before, sink);
    const float both = high + logf(__expf(before - high) + __expf(sink - high)), kept = __expf(before - both);
    for (std::int64_t d = row.begin + lane; d < row.begin + a.value_dim; d += kWarp) {
      out[d] = from_float<T>(kept * to_float(out[d]));
    }
    __syncwarp();  // all lanes have read lse
    if (lane == 0) lse[row.statistic] = both;
  }
}

template <class T>
__global__ void sinks_gradient(Attention a, const T* sinks, const T* out, const float* lse, const T* dout,
                               float* dsinks) {
  __shared__ float part[kWarps];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const std::int64_t head = blockIdx.x;
  const float sink = to_float(sinks[head]);
  float sum = 0;
  for (std::int64_t i = warp; i < a.batch * a.queries; i += kWarps) {
    const RowOfStatistics row(a, i / a.queries, head, i % a.queries);
    float along = 0;
    for (std::int64_t d = row.begin + lane; d < row.begin + a.value_dim; d += kWarp) {
      along += to_float(dout[d]) * to_float(out[d]);
    }
    sum += __expf(sink - lse[row.statistic]) * warp_reduce(along);
  }
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < kWarps; ++i) sum += part[i];
  dsinks[head] -= sum;
}

}  // namespace

void attention_sinks_forward(const Attention& a, Element element, const void* sinks, void* out, float* lse,
                             Stream stream) {
  if (a.batch * a.heads * a.queries == 0) return;
  with_element(element, [&]<class T>() {
    launch(add_sinks<T>, {blocks_for(a.batch * a.heads * a.queries, kWarps), kBlock}, stream, a, as<T>(sinks),
           as<T>(out), lse);
  });
  check_launch("attention sinks forward");
}

void attention_sinks_backward(const Attention& a, Element element, const void* sinks, const void* out, const float* lse,
                              const void* dout, float* dsinks, Stream stream) {
  if (a.batch * a.heads * a.queries == 0) return;
  with_element(element, [&]<class T>() {
    launch(sinks_gradient<T>, {static_cast<unsigned>(a.heads), kBlock}, stream, a, as<T>(sinks), as<T>(out), lse,
           as<T>(dout), dsinks);
  });
  check_launch("attention sinks backward");
}

}  // namespace kernels::gpu
