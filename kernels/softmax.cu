// kernels/softmax.cu -- see softmax.h. A block takes a row: each of its threads keeps a few packs in registers, so that
// a row is read once; of longer ones the rest is read again. SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/softmax.h"

namespace kernels::gpu {
namespace {

constexpr int kKept = 2;  // packs of a row that a thread keeps, all of them on their way at once

/// Keys [first, last) are those that a query sees: causal masks, windows, chunks and documents all leave neighbours.
struct Seen {
  int first, last;

  /// As Softmax::sees; `document` holds where each token's begins, or is null.
  __device__ Seen(const Softmax& s, const std::int32_t* document, int query)
      : first(0), last(static_cast<int>(s.keys)) {
    if (s.causal) last = min(last, query + 1);
    if (s.window > 0) first = static_cast<int>(max(std::int64_t{0}, query - s.window + 1));
    if (s.chunk > 0) {
      const std::int64_t begin = query / s.chunk * s.chunk;
      first = max(first, static_cast<int>(begin));
      last = static_cast<int>(min(static_cast<std::int64_t>(last), begin + s.chunk));
    }
    if (document) {
      first = max(first, document[query]);
      last = end_of_document(document, query, last);
    }
  }

  /// Are there any among V keys from `key` on?
  template <int V>
  __device__ bool any(int key) const {
    return key + V > first && key < last;
  }

 private:
  /// The first key from `query` on, at most `end`, that is of another document: they follow one another.
  static __device__ int end_of_document(const std::int32_t* document, int query, int end) {
    int inside = query;
    while (end - inside > 1) {
      const int middle = inside + (end - inside) / 2;
      (document[middle] == document[query] ? inside : end) = middle;
    }
    return end;
  }
};

template <int V>
__device__ float largest_of(const Pack<float, V>& pack) {
  float most = pack.element[0];
  for (int j = 1; j < V; ++j) most = fmaxf(most, pack.element[j]);
  return most;
}

/// Sum of what the scores become, exp(score - most).
template <int V>
__device__ float exponentials(Pack<float, V>& scores, float most) {
  float sum = 0;
  for (int j = 0; j < V; ++j) {
    scores.element[j] = __expf(scores.element[j] - most);
    sum += scores.element[j];
  }
  return sum;
}

template <class T, int V>
__device__ void store_scaled(T* to, const Pack<float, V>& pack, float scale) {
  Pack<T, V> out;
  for (int j = 0; j < V; ++j) out.set(j, pack.element[j] * scale);
  store(to, out);
}

template <class T, int V>
__global__ void __launch_bounds__(kRowThreads, kRowBlocks)
    softmax_rows(Softmax s, const T* scores, const T* sinks, const std::int32_t* begins, T* probabilities, float* lse) {
  const int keys = static_cast<int>(s.keys), own = threadIdx.x * V, step = blockDim.x * V, rest = own + kKept * step;
  for (std::int64_t row = blockIdx.x; row < s.matrices * s.queries; row += gridDim.x) {
    const std::int64_t matrix = row / s.queries, head = matrix % s.heads;
    const int query = static_cast<int>(row - matrix * s.queries);
    const Seen seen(s, begins ? begins + matrix / s.heads * s.queries : nullptr, query);
    const T* in = scores + row * s.keys;
    T* out = probabilities + row * s.keys;
    const auto slope = static_cast<float>(s.alibi.slope(head));
    const float sink = sinks ? to_float(sinks[head]) : -INFINITY;
    /// A key that is not seen is as one of the least score there is.
    const auto scores_of = [&](const Pack<T, V>& pack, int key) {
      Pack<float, V> of;
      for (int j = 0; j < V; ++j) {
        const bool sees = key + j >= seen.first && key + j < seen.last;
        of.element[j] = sees ? pack[j] - slope * fabsf(static_cast<float>(query - key) - j) : -INFINITY;
      }
      return of;
    };

    Pack<T, V> raw[kKept];
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      if (seen.any<V>(own + k * step)) raw[k] = load<V>(in + own + k * step);
    }
    Pack<float, V> kept[kKept];
    float most = sink, sum = 0;
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      kept[k] = scores_of(raw[k], own + k * step);
      most = fmaxf(most, largest_of(kept[k]));
    }
#pragma unroll 1
    for (int key = rest; key < seen.last; key += step) {
      if (seen.any<V>(key)) most = fmaxf(most, largest_of(scores_of(load<V>(in + key), key)));
    }
    most = block_reduce<Maximum>(most);

#pragma unroll
    for (int k = 0; k < kKept; ++k) sum += exponentials(kept[k], most);
#pragma unroll 1
    for (int key = rest; key < seen.last; key += step) {
      if (!seen.any<V>(key)) continue;
      Pack<float, V> more = scores_of(load<V>(in + key), key);
      sum += exponentials(more, most);
    }
    sum = block_reduce(sum) + __expf(sink - most);
    if (lse && threadIdx.x == 0) lse[row] = most + logf(sum);

    const float scale = 1 / sum;
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      if (own + k * step < keys) store_scaled(out + own + k * step, kept[k], scale);
    }
#pragma unroll 1
    for (int key = rest; key < keys; key += step) {
      Pack<float, V> more{};
      if (seen.any<V>(key)) {
        more = scores_of(load<V>(in + key), key);
        exponentials(more, most);
      }
      store_scaled(out + key, more, scale);
    }
  }
}

template <class T, int V>
__device__ float product(const Pack<T, V>& a, const Pack<T, V>& b) {
  float sum = 0;
  for (int j = 0; j < V; ++j) sum += a[j] * b[j];
  return sum;
}

template <class T, int V>
__device__ void store_gradient(T* to, const Pack<T, V>& p, const Pack<T, V>& dp, float along) {
  Pack<T, V> out;
  for (int j = 0; j < V; ++j) out.set(j, p[j] * (dp[j] - along));
  store(to, out);
}

template <class T, int V>
__global__ void __launch_bounds__(kRowThreads, kRowBlocks)
    softmax_rows_gradient(Softmax s, const T* probabilities, const T* dprobabilities, T* dscores) {
  const int keys = static_cast<int>(s.keys), own = threadIdx.x * V, step = blockDim.x * V, rest = own + kKept * step;
  for (std::int64_t row = blockIdx.x; row < s.matrices * s.queries; row += gridDim.x) {
    const T *p = probabilities + row * s.keys, *dp = dprobabilities + row * s.keys;
    T* out = dscores + row * s.keys;
    Pack<T, V> kept_p[kKept], kept_dp[kKept];
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      const int key = own + k * step;
      if (key >= keys) continue;
      kept_p[k] = load<V>(p + key);
      kept_dp[k] = load<V>(dp + key);
    }
    float along = 0;
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      if (own + k * step < keys) along += product(kept_p[k], kept_dp[k]);
    }
#pragma unroll 1
    for (int key = rest; key < keys; key += step) along += product(load<V>(p + key), load<V>(dp + key));
    along = block_reduce(along);
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      if (own + k * step < keys) store_gradient(out + own + k * step, kept_p[k], kept_dp[k], along);
    }
#pragma unroll 1
    for (int key = rest; key < keys; key += step) store_gradient(out + key, load<V>(p + key), load<V>(dp + key), along);
  }
}

/// Threads that keep all of a row, if so many may be.
template <int V>
Grid grid_of(const Softmax& s) {
  return {blocks_for(s.matrices * s.queries, 1), threads_for((s.keys + kKept * V - 1) / (kKept * V), kRowThreads)};
}

}  // namespace

void softmax_forward(const Softmax& s, Element element, const void* scores, const void* sinks,
                     const std::int32_t* begins, void* probabilities, float* lse, Stream stream) {
  if (s.matrices * s.queries == 0) return;
  with_packs(element, packs(element, s.keys, scores, probabilities), [&]<class T, int V>() {
    launch(softmax_rows<T, V>, grid_of<V>(s), stream, s, as<T>(scores), as<T>(sinks), begins, as<T>(probabilities),
           lse);
  });
  check_launch("softmax forward");
}

void softmax_backward(const Softmax& s, Element element, const void* probabilities, const void* dprobabilities,
                      void* dscores, Stream stream) {
  if (s.matrices * s.queries == 0) return;
  with_packs(element, packs(element, s.keys, probabilities, dprobabilities, dscores), [&]<class T, int V>() {
    launch(softmax_rows_gradient<T, V>, grid_of<V>(s), stream, s, as<T>(probabilities), as<T>(dprobabilities),
           as<T>(dscores));
  });
  check_launch("softmax backward");
}

}  // namespace kernels::gpu
