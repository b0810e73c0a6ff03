// kernels/rotary.cu -- see rotary.h. A block takes some tokens: the sines of all of them once, then all their heads.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/device.cuh"
#include "kernels/rotary.h"

namespace kernels::gpu {
namespace {

constexpr int kMostPairs = 512;
constexpr std::int64_t kTokens = 4;  // of a block at a time

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

/// V pairs at once where the two halves of a head are apart; interleaved pairs go one by one. `together` tokens, of
/// kMostPairs pairs at most, at a time: their sines take as long as one token's. `octaves` is log2(r.base).
template <class T, int V>
__global__ void turn(Rotary r, double octaves, float direction, int together, const std::int32_t* positions,
                     const T* from, T* to) {
  __shared__ double frequency[kMostPairs];
  __shared__ float cosine[kMostPairs], sine[kMostPairs];
  const int half = static_cast<int>(r.rotary_dim / 2), of_token = static_cast<int>(r.heads) * (half / V);
  const int own = static_cast<int>(threadIdx.x), step = static_cast<int>(blockDim.x);
  for (int i = own; i < half; i += step) frequency[i] = exp2(octaves * (-2.0 * i / static_cast<double>(r.rotary_dim)));
  __syncthreads();
  const std::int64_t stride = std::int64_t{together} * gridDim.x;
  for (std::int64_t first = std::int64_t{together} * blockIdx.x; first < r.tokens; first += stride) {
    const int some = static_cast<int>(min(std::int64_t{together}, r.tokens - first)), count = some * of_token;
    Pack<T, V> a, b;
    const auto read = [&](int pack) {
      const Pairs<V> pairs(r, half, pack % of_token);
      const T* const at = from + (first + pack / of_token) * r.token_stride;
      a = load<V>(at + pairs.a);
      b = load<V>(at + pairs.b);
    };
    if (own < count) read(own);  // on its way while the sines are computed
    for (int i = own; i < some * half; i += step) {
      // In double: in float, place 100,000 would be off by 0.01 radian.
      double s, c;
      sincos(positions[first + i / half] * frequency[i % half], &s, &c);
      sine[i] = static_cast<float>(r.scale * s) * direction;
      cosine[i] = static_cast<float>(r.scale * c);
    }
    __syncthreads();
    for (int pack = own; pack < count; pack += step) {
      const int token = pack / of_token;
      const Pairs<V> pairs(r, half, pack - token * of_token);
      if (pack != own) read(pack);
      const int of_first = token * half + pairs.first;
      for (int j = 0; j < V; ++j) {
        const float u = a[j], v = b[j], c = cosine[of_first + j], s = sine[of_first + j];
        a.set(j, u * c - v * s);
        b.set(j, u * s + v * c);
      }
      T* const turned = to + (first + token) * r.token_stride;
      store(turned + pairs.a, a);
      store(turned + pairs.b, b);
    }
    for (int token = 0; from != to && token < some; ++token) {
      const std::int64_t begin = (first + token) * r.token_stride;
      copy_rest<T, V>(r, from + begin, to + begin);
    }
    __syncthreads();  // the next tokens write the sines
  }
}

}  // namespace

void rotary(const Rotary& r, Direction direction, Element element, const std::int32_t* positions, const void* from,
            void* to, Stream stream) {
  if (r.tokens == 0 || r.heads == 0 || (r.rotary_dim < 2 && from == to)) return;
  if (r.rotary_dim > 2 * kMostPairs) throw DeviceError("rotary: rotary_dim is above 1024");
  const bool wide = !r.interleaved && packs(element, r.rotary_dim / 2, from, to) && packs(element, r.head_dim) &&
                    packs(element, r.first) && packs(element, r.token_stride);
  const std::int64_t together =
      std::clamp<std::int64_t>(2 * kMostPairs / std::max<std::int64_t>(r.rotary_dim, 2), 1, kTokens);
  with_packs(element, wide, [&]<class T, int V>() {
    launch(turn<T, V>, {blocks_for(r.tokens, together, kFewBlocks), kBlock}, stream, r, std::log2(r.base),
           direction == Direction::forward ? 1.0f : -1.0f, static_cast<int>(together), positions, as<T>(from),
           as<T>(to));
  });
  check_launch("rotary");
}

}  // namespace kernels::gpu
