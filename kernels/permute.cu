// kernels/permute.cu -- see permute.h. The plan is a counting sort with a block for each expert; the rest a block a
// row. SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/permute.h"

namespace kernels::gpu {
namespace {

/// Block e counts the choices of expert e.
__global__ void count(std::int64_t choices, const std::int32_t* experts, std::int32_t* counts) {
  int total = 0;
  for (std::int64_t begin = 0; begin < choices; begin += kBlock) {
    const std::int64_t i = begin + threadIdx.x;
    total += __syncthreads_count(i < choices && experts[i] == static_cast<int>(blockIdx.x));
  }
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

/// Block e gives its choices their rows in the order in which they stand: kBlock choices at a time, numbered by the
/// votes of their warps. The last block is that of all choices of no expert: what is dropped.
__global__ void number(Permute p, std::int64_t end, const std::int32_t* experts, const std::int32_t* counts,
                       std::int32_t* rows) {
  __shared__ int votes[kWarps];
  const std::int64_t choices = p.tokens * p.top_k;
  const int expert = blockIdx.x < p.experts ? static_cast<int>(blockIdx.x) : -1, warp = threadIdx.x / kWarp;
  const bool held = expert >= p.first && expert < end;
  int next = 0;
  for (int e = static_cast<int>(p.first); e < expert; ++e) next += p.capacity > 0 ? p.capacity : counts[e];
  for (std::int64_t begin = 0; begin < choices; begin += kBlock) {
    const std::int64_t i = begin + threadIdx.x;
    const int chosen = i < choices ? experts[i] : 0;
    const bool of_none = chosen < 0 || chosen >= p.experts;
    const bool mine = i < choices && (expert < 0 ? of_none : chosen == expert);
    const unsigned vote = __ballot_sync(kAll, mine);
    if (threadIdx.x % kWarp == 0) votes[warp] = __popc(vote);
    __syncthreads();
    int before = __popc(vote & ((1u << threadIdx.x % kWarp) - 1)), all = 0;
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) before += votes[w];
      all += votes[w];
    }
    if (mine) rows[i] = held ? next + before : -1;
    next += all;
    __syncthreads();  // the votes are cast again
  }
}

template <class T, int V>
__global__ void spread(Permute p, const std::int32_t* rows, const T* x, T* sorted) {
  for (std::int64_t token = blockIdx.x; token < p.tokens; token += gridDim.x) {
    for (std::int64_t i = threadIdx.x * V; i < p.width; i += blockDim.x * V) {
      const Pack<T, V> pack = load<V>(x + token * p.width + i);
      for (int j = 0; j < p.top_k; ++j) {
        const std::int64_t row = rows[token * p.top_k + j];
        if (row >= 0) store(sorted + row * p.width + i, pack);
      }
    }
  }
}

/// weights null: all 1.
template <class T, int V>
__global__ void gather_choices(Permute p, const std::int32_t* rows, const float* weights, const T* sorted, T* y) {
  for (std::int64_t token = blockIdx.x; token < p.tokens; token += gridDim.x) {
    for (std::int64_t i = threadIdx.x * V; i < p.width; i += blockDim.x * V) {
      float sum[V] = {};
      for (int j = 0; j < p.top_k; ++j) {
        const std::int64_t choice = token * p.top_k + j;
        if (rows[choice] < 0) continue;
        const float weight = weights ? weights[choice] : 1;
        const Pack<T, V> pack = load<V>(sorted + rows[choice] * p.width + i);
        for (int l = 0; l < V; ++l) sum[l] += weight * pack[l];
      }
      Pack<T, V> out;
      for (int l = 0; l < V; ++l) out.set(l, sum[l]);
      store(y + token * p.width + i, out);
    }
  }
}

template <class T, int V>
__global__ void spread_choices(Permute p, const std::int32_t* rows, const float* weights, const T* sorted, const T* dy,
                               T* dsorted, float* dweights) {
  for (std::int64_t choice = blockIdx.x; choice < p.tokens * p.top_k; choice += gridDim.x) {
    const std::int64_t row = rows[choice] * p.width, token = choice / p.top_k * p.width;
    const std::int64_t width = row >= 0 ? p.width : 0;
    const float weight = weights[choice];
    float along = 0;
    for (std::int64_t i = threadIdx.x * V; i < width; i += blockDim.x * V) {
      const Pack<T, V> grad = load<V>(dy + token + i), value = load<V>(sorted + row + i);
      Pack<T, V> out;
      for (int l = 0; l < V; ++l) {
        along += grad[l] * value[l];
        out.set(l, weight * grad[l]);
      }
      store(dsorted + row + i, out);
    }
    along = block_reduce(along);
    if (threadIdx.x == 0) dweights[choice] = along;
  }
}

template <class T, int V>
void launch_gather(const Permute& p, const std::int32_t* rows, const float* weights, const void* sorted, void* y,
                   Stream stream) {
  launch(gather_choices<T, V>, {blocks_for(p.tokens, 1), threads_for(p.width / V)}, stream, p, rows, weights,
         as<T>(sorted), as<T>(y));
}

}  // namespace

void permute_plan(const Permute& p, const std::int32_t* experts, std::int32_t* counts, std::int32_t* rows,
                  Stream stream) {
  const auto blocks = static_cast<unsigned>(p.experts);
  launch(count, {blocks, kBlock}, stream, p.tokens * p.top_k, experts, counts);
  launch(number, {blocks + 1, kBlock}, stream, p, p.end(), experts, counts, rows);
  check_launch("permute plan");
}

void permute_forward(const Permute& p, Element element, const std::int32_t* rows, const void* x, void* sorted,
                     Stream stream) {
  with_packs(element, packs(element, p.width, x, sorted), [&]<class T, int V>() {
    launch(spread<T, V>, {blocks_for(p.tokens, 1), threads_for(p.width / V)}, stream, p, rows, as<T>(x), as<T>(sorted));
  });
  check_launch("permute forward");
}

void permute_backward(const Permute& p, Element element, const std::int32_t* rows, const void* dsorted, void* dx,
                      Stream stream) {
  with_packs(element, packs(element, p.width, dsorted, dx),
             [&]<class T, int V>() { launch_gather<T, V>(p, rows, nullptr, dsorted, dx, stream); });
  check_launch("permute backward");
}

void unpermute_forward(const Permute& p, Element element, const std::int32_t* rows, const float* weights,
                       const void* sorted, void* y, Stream stream) {
  with_packs(element, packs(element, p.width, sorted, y),
             [&]<class T, int V>() { launch_gather<T, V>(p, rows, weights, sorted, y, stream); });
  check_launch("unpermute forward");
}

void unpermute_backward(const Permute& p, Element element, const std::int32_t* rows, const float* weights,
                        const void* sorted, const void* dy, void* dsorted, float* dweights, Stream stream) {
  with_packs(element, packs(element, p.width, sorted, dy, dsorted), [&]<class T, int V>() {
    launch(spread_choices<T, V>, {blocks_for(p.tokens * p.top_k, 1), threads_for(p.width / V)}, stream, p, rows,
           weights, as<T>(sorted), as<T>(dy), as<T>(dsorted), dweights);
  });
  check_launch("unpermute backward");
}

}  // namespace kernels::gpu
