// kernels/rotary.cu -- see rotary.h. A block takes some tokens one by one: a token's sines once, then all heads.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/rotary.h"

namespace kernels::gpu {
namespace {

constexpr int kMostPairs = 512;
constexpr std::int64_t kTokens = 4;  // of a block, if there are many: what all tokens share is computed once

/// Where the V pairs of a pack lie in a token's heads, and the number of the first among those that its head turns.
template <int V>
struct Pairs {
  std::int64_t a, b;
  int first;

  __device__ Pairs(const Rotary& r, int half, int pack) {
    const int packs_of_head = half / V, head = pack / packs_of_head;
    first = (pack - head * packs_of_head) * V;
    const std::int64_t begin = head * r.head_dim + r.first;
    a = begin + (r.interleaved ? 2 * first : first);
    b = begin + (r.interleaved ? 2 * first + 1 : first + half);
  }
};

/// What a token has besides: the rest of each head, and what lies behind the heads.
template <class T, int V>
__device__ void copy_rest(const Rotary& r, const T* from, T* to) {
  const std::int64_t of_heads = r.heads * r.head_dim;
  const std::int64_t first = r.rotary_dim == r.head_dim ? of_heads : 0;
  for (std::int64_t i = first + threadIdx.x * V; i < r.token_stride; i += blockDim.x * V) {
    const std::int64_t in_head = i % r.head_dim - r.first;
    if (i >= of_heads || in_head < 0 || in_head >= r.rotary_dim) store(to + i, load<V>(from + i));
  }
}

/// V pairs at once where the two halves of a head are apart; interleaved pairs go one by one.
template <class T, int V>
__global__ void turn(Rotary r, float direction, const std::int32_t* positions, const T* from, T* to) {
  __shared__ double frequency[kMostPairs];
  __shared__ float cosine[kMostPairs], sine[kMostPairs];
  const int half = static_cast<int>(r.rotary_dim / 2), count = static_cast<int>(r.heads) * (half / V);
  const int own = static_cast<int>(threadIdx.x), step = static_cast<int>(blockDim.x);
  // Each thread reads back only what it has written.
  for (int i = own; i < half; i += step) frequency[i] = pow(r.base, -2.0 * i / static_cast<double>(r.rotary_dim));
  for (std::int64_t token = blockIdx.x; token < r.tokens; token += gridDim.x) {
    const T* const of_token = from + token * r.token_stride;
    T* const turned = to + token * r.token_stride;
    Pack<T, V> a, b;
    const auto read = [&](const Pairs<V>& pairs) {
      a = load<V>(of_token + pairs.a);
      b = load<V>(of_token + pairs.b);
    };
    if (own < count) read({r, half, own});  // on its way while the sines are computed
    for (int i = own; i < half; i += step) {
      // In double: in float, place 100,000 would be off by 0.01 radian.
      double s, c;
      sincos(positions[token] * frequency[i], &s, &c);
      sine[i] = static_cast<float>(s) * direction;
      cosine[i] = static_cast<float>(c);
    }
    __syncthreads();
    for (int pack = own; pack < count; pack += step) {
      const Pairs<V> pairs(r, half, pack);
      if (pack != own) read(pairs);
      for (int j = 0; j < V; ++j) {
        const float u = a[j], v = b[j], c = cosine[pairs.first + j], s = sine[pairs.first + j];
        a.set(j, u * c - v * s);
        b.set(j, u * s + v * c);
      }
      store(turned + pairs.a, a);
      store(turned + pairs.b, b);
    }
    if (from != to) copy_rest<T, V>(r, of_token, turned);
    __syncthreads();  // the next token writes the sines
  }
}

}  // namespace

void rotary(const Rotary& r, Direction direction, Element element, const std::int32_t* positions, const void* from,
            void* to, Stream stream) {
  if (r.tokens == 0 || r.heads == 0 || (r.rotary_dim < 2 && from == to)) return;
  if (r.rotary_dim > 2 * kMostPairs) throw DeviceError("rotary: rotary_dim is above 1024");
  const bool wide = !r.interleaved && packs(element, r.rotary_dim / 2, from, to) && packs(element, r.head_dim) &&
                    packs(element, r.first) && packs(element, r.token_stride);
  with_packs(element, wide, [&]<class T, int V>() {
    launch(turn<T, V>, {blocks_for(r.tokens, kTokens), kBlock}, stream, r,
           direction == Direction::forward ? 1.0f : -1.0f, positions, as<T>(from), as<T>(to));
  });
  check_launch("rotary");
}

}  // namespace kernels::gpu
