// kernels/rotary.cu -- see rotary.h. A block takes a token: its sines once, then all heads.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/rotary.h"

namespace kernels::gpu {
namespace {

constexpr int kMostPairs = 512;

/// V pairs at once where the two halves of a head are apart; interleaved pairs go one by one.
template <class T, int V>
__global__ void turn(Rotary r, float direction, const std::int32_t* positions, T* heads) {
  __shared__ float cosine[kMostPairs], sine[kMostPairs];
  const auto half = static_cast<int>(r.rotary_dim / 2);
  for (std::int64_t token = blockIdx.x; token < r.tokens; token += gridDim.x) {
    for (int i = threadIdx.x; i < half; i += blockDim.x) {
      // In double: in float, place 100,000 would be off by 0.01 radian.
      double s, c;
      sincos(positions[token] * pow(r.base, -2.0 * i / static_cast<double>(r.rotary_dim)), &s, &c);
      sine[i] = static_cast<float>(s) * direction;
      cosine[i] = static_cast<float>(c);
    }
    __syncthreads();
    const int packs_of_head = half / V, count = static_cast<int>(r.heads) * packs_of_head;
    for (int pack = threadIdx.x; pack < count; pack += blockDim.x) {
      const int head = pack / packs_of_head, i = pack % packs_of_head * V;
      T* values = heads + token * r.token_stride + head * r.head_dim;
      T* at_a = values + (r.interleaved ? 2 * i : i);
      T* at_b = values + (r.interleaved ? 2 * i + 1 : i + half);
      Pack<T, V> a = load<V>(at_a), b = load<V>(at_b);
      for (int j = 0; j < V; ++j) {
        const float u = a[j], v = b[j];
        a.set(j, u * cosine[i + j] - v * sine[i + j]);
        b.set(j, u * sine[i + j] + v * cosine[i + j]);
      }
      store(at_a, a);
      store(at_b, b);
    }
    __syncthreads();  // the next token writes the sines
  }
}

}  // namespace

void rotary(const Rotary& r, Direction direction, Element element, const std::int32_t* positions, void* heads,
            Stream stream) {
  if (r.tokens == 0 || r.heads == 0 || r.rotary_dim < 2) return;
  if (r.rotary_dim > 2 * kMostPairs) throw DeviceError("rotary: rotary_dim is above 1024");
  const bool wide = !r.interleaved && packs(element, r.rotary_dim / 2, heads) && packs(element, r.head_dim) &&
                    packs(element, r.token_stride);
  with_packs(element, wide, [&]<class T, int V>() {
    launch(turn<T, V>, {blocks_for(r.tokens, 1), kBlock}, stream, r, direction == Direction::forward ? 1.0f : -1.0f,
           positions, as<T>(heads));
  });
  check_launch("rotary");
}

}  // namespace kernels::gpu
