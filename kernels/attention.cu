// kernels/attention.cu -- see attention.h. A warp takes a query, or in the gradients of keys and values a key, and
// walks over the other side one by one; its lanes share out the dimensions of a head. No tensor cores: right first.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.h"
#include "kernels/device.cuh"

namespace kernels::gpu {
namespace {

constexpr int kPart = 8, kMostDims = kPart * kWarp;

/// A row of a head, shared out over the lanes of a warp: lane l holds elements l, l + 32, ...; zeros beyond the end.
struct Row {
  float part[kPart] = {};

  template <class T>
  static __device__ Row load(const T* at, int dims) {
    Row row;
    for (int i = 0; i < kPart; ++i) {
      const int d = i * kWarp + threadIdx.x % kWarp;
      if (d < dims) row.part[i] = to_float(at[d]);
    }
    return row;
  }
  template <class T>
  __device__ void store(T* at, int dims) const {
    for (int i = 0; i < kPart; ++i) {
      const int d = i * kWarp + threadIdx.x % kWarp;
      if (d < dims) at[d] = from_float<T>(part[i]);
    }
  }
  __device__ float dot(const Row& o) const {
    float sum = 0;
    for (int i = 0; i < kPart; ++i) sum += part[i] * o.part[i];
    return warp_reduce(sum);
  }
  /// this = scale this + factor o
  __device__ void scale_add(float scale, float factor, const Row& o) {
    for (int i = 0; i < kPart; ++i) part[i] = scale * part[i] + factor * o.part[i];
  }
};

/// Part of a sum of exponentials whose log is `whole`; -infinity stands for nothing.
__device__ float share(float part, float whole) { return whole == -INFINITY ? 0 : __expf(part - whole); }

/// Keys [first, end) that a query may see.
struct Range {
  std::int64_t first, end;
};
__device__ Range keys_of(const Attention& a, std::int64_t query) {
  const std::int64_t place = query + a.offset;
  return {a.window == 0 ? 0 : max(place - a.window + 1, std::int64_t{0}), a.causal ? min(place + 1, a.keys) : a.keys};
}

/// Query `index` (batch, head, query) of the grid: where its rows lie.
struct Place {
  std::int64_t batch, head, query;

  __device__ Place(const Attention& a, std::int64_t index)
      : batch(index / a.queries / a.heads), head(index / a.queries % a.heads), query(index % a.queries) {}
  __device__ std::int64_t row(const Attention& a) const { return (batch * a.queries + query) * a.heads + head; }
  __device__ std::int64_t key_row(const Attention& a, std::int64_t key) const {
    return (batch * a.keys + key) * a.kv_heads + head / (a.heads / a.kv_heads);
  }
};

/// What dropout multiplies the probabilities of a query with.
struct Drop {
  const Dropout& dropout;
  std::uint32_t threshold;
  float scale;
  std::uint64_t first;

  __device__ Drop(const Attention& a, const Place& place)
      : dropout(a.dropout),
        threshold(dropout_threshold(a.dropout.probability)),
        scale(static_cast<float>(1 / (1 - a.dropout.probability))),
        first(a.place_of(place.batch, place.head, place.query)) {}
  __device__ float operator()(std::int64_t key) const {
    if (threshold == 0) return 1;
    return dropout_keeps(dropout, threshold, first + key) ? scale : 0;
  }
};

/// Alibi::bias of a query's scores.
struct Lean {
  float slope;
  std::int64_t place;

  __device__ Lean(const Attention& a, const Place& at)
      : slope(static_cast<float>(a.alibi.slope(at.head))), place(at.query + a.offset) {}
  __device__ float operator()(std::int64_t key) const {
    const std::int64_t behind = place - key;
    return -slope * static_cast<float>(behind < 0 ? -behind : behind);
  }
};

__device__ std::int64_t first_warp() { return static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp; }
__device__ std::int64_t warp_stride() { return static_cast<std::int64_t>(gridDim.x) * kWarps; }

template <class T>
__global__ void attend(Attention a, const T* q, const T* k, const T* v, T* out, float* lse) {
  const int dims = static_cast<int>(a.head_dim), value_dims = static_cast<int>(a.value_dim);
  for (std::int64_t index = first_warp(); index < a.batch * a.heads * a.queries; index += warp_stride()) {
    const Place place(a, index);
    const Row query = Row::load(q + place.row(a) * dims, dims);
    const auto [first, end] = keys_of(a, place.query);
    const Drop drop(a, place);
    const Lean lean(a, place);
    float maximum = -INFINITY, total = 0;
    Row sum;
    for (std::int64_t j = first; j < end; ++j) {
      const std::int64_t key = place.key_row(a, j);
      const float score = static_cast<float>(a.scale) * query.dot(Row::load(k + key * dims, dims)) + lean(j);
      const float higher = fmaxf(maximum, score), shrink = share(maximum, higher), weight = share(score, higher);
      sum.scale_add(shrink, drop(j) * weight, Row::load(v + key * value_dims, value_dims));
      total = shrink * total + weight;
      maximum = higher;
    }
    Row result;
    result.scale_add(0, total > 0 ? 1 / total : 0, sum);
    result.store(out + place.row(a) * value_dims, value_dims);
    if (threadIdx.x % kWarp == 0) lse[index] = total > 0 ? maximum + logf(total) : -INFINITY;
  }
}

template <class T>
__global__ void merge(Attention a, const T* other_out, const float* other_lse, T* out, float* lse) {
  const int dims = static_cast<int>(a.value_dim);
  for (std::int64_t index = first_warp(); index < a.batch * a.heads * a.queries; index += warp_stride()) {
    const float mine = lse[index], theirs = other_lse[index], high = fmaxf(mine, theirs);
    const float both = high == -INFINITY ? high : high + logf(share(mine, high) + share(theirs, high));
    const std::int64_t row = Place(a, index).row(a) * dims;
    Row sum = Row::load(out + row, dims);
    sum.scale_add(share(mine, both), share(theirs, both), Row::load(other_out + row, dims));
    sum.store(out + row, dims);
    __syncwarp();  // all lanes have read lse
    if (threadIdx.x % kWarp == 0) lse[index] = both;
  }
}

template <class T>
struct Backward {
  const T *q, *k, *v, *out;
  const float* lse;
  const T* dout;
  T *dq, *dk, *dv;
};

template <class T>
__global__ void backward_queries(Attention a, Backward<T> p) {
  const int dims = static_cast<int>(a.head_dim), value_dims = static_cast<int>(a.value_dim);
  const auto scale = static_cast<float>(a.scale);
  for (std::int64_t index = first_warp(); index < a.batch * a.heads * a.queries; index += warp_stride()) {
    const Place place(a, index);
    const Row query = Row::load(p.q + place.row(a) * dims, dims);
    const Row dout = Row::load(p.dout + place.row(a) * value_dims, value_dims);
    const float delta = dout.dot(Row::load(p.out + place.row(a) * value_dims, value_dims)), lse = p.lse[index];
    const auto [first, end] = keys_of(a, place.query);
    const Drop drop(a, place);
    const Lean lean(a, place);
    Row dq;
    for (std::int64_t j = first; j < end; ++j) {
      const std::int64_t row = place.key_row(a, j);
      const Row key = Row::load(p.k + row * dims, dims);
      const float probability = share(scale * query.dot(key) + lean(j), lse);
      const float dprobability = drop(j) * dout.dot(Row::load(p.v + row * value_dims, value_dims));
      dq.scale_add(1, scale * probability * (dprobability - delta), key);
    }
    dq.store(p.dq + place.row(a) * dims, dims);
  }
}

template <class T>
__global__ void backward_keys(Attention a, Backward<T> p) {
  const int dims = static_cast<int>(a.head_dim), value_dims = static_cast<int>(a.value_dim);
  const auto scale = static_cast<float>(a.scale);
  const std::int64_t group = a.heads / a.kv_heads;
  for (std::int64_t row = first_warp(); row < a.batch * a.keys * a.kv_heads; row += warp_stride()) {
    const std::int64_t kv_head = row % a.kv_heads, j = row / a.kv_heads % a.keys, batch = row / a.kv_heads / a.keys;
    const Row key = Row::load(p.k + row * dims, dims), value = Row::load(p.v + row * value_dims, value_dims);
    Row dk, dv;
    for (std::int64_t i = 0; i < group * a.queries; ++i) {
      const Place place(a, (batch * a.heads + kv_head * group) * a.queries + i);
      const auto [first, end] = keys_of(a, place.query);
      if (j < first || j >= end) continue;
      const Row query = Row::load(p.q + place.row(a) * dims, dims);
      const Row dout = Row::load(p.dout + place.row(a) * value_dims, value_dims);
      const float delta = dout.dot(Row::load(p.out + place.row(a) * value_dims, value_dims));
      const float lse = p.lse[(batch * a.heads + place.head) * a.queries + place.query];
      const float probability = share(scale * query.dot(key) + Lean(a, place)(j), lse), kept = Drop(a, place)(j);
      dv.scale_add(1, kept * probability, dout);
      dk.scale_add(1, scale * probability * (kept * dout.dot(value) - delta), query);
    }
    dk.store(p.dk + row * dims, dims);
    dv.store(p.dv + row * value_dims, value_dims);
  }
}

void check_shape(const Attention& a) {
  if (std::max(a.head_dim, a.value_dim) > kMostDims)
    throw DeviceError("attention: a head has more than 256 dimensions");
}

}  // namespace

void attention_forward(const Attention& a, Element element, const void* q, const void* k, const void* v, void* out,
                       float* lse, Stream stream) {
  check_shape(a);
  with_element(element, [&]<class T>() {
    launch(attend<T>, {blocks_for(a.batch * a.heads * a.queries, kWarps), kBlock}, stream, a, as<T>(q), as<T>(k),
           as<T>(v), as<T>(out), lse);
  });
  check_launch("attention forward");
}

void attention_merge(const Attention& a, Element element, const void* other_out, const float* other_lse, void* out,
                     float* lse, Stream stream) {
  check_shape(a);
  with_element(element, [&]<class T>() {
    launch(merge<T>, {blocks_for(a.batch * a.heads * a.queries, kWarps), kBlock}, stream, a, as<T>(other_out),
           other_lse, as<T>(out), lse);
  });
  check_launch("attention merge");
}

void attention_backward(const Attention& a, Element element, const void* q, const void* k, const void* v,
                        const void* out, const float* lse, const void* dout, void* dq, void* dk, void* dv,
                        Stream stream) {
  check_shape(a);
  with_element(element, [&]<class T>() {
    const Backward<T> p{as<T>(q), as<T>(k), as<T>(v), as<T>(out), lse, as<T>(dout), as<T>(dq), as<T>(dk), as<T>(dv)};
    launch(backward_queries<T>, {blocks_for(a.batch * a.heads * a.queries, kWarps), kBlock}, stream, a, p);
    launch(backward_keys<T>, {blocks_for(a.batch * a.keys * a.kv_heads, kWarps), kBlock}, stream, a, p);
  });
  check_launch("attention backward");
}

}  // namespace kernels::gpu
