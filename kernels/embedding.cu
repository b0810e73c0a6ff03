// kernels/embedding.cu -- see embedding.h. A block takes a token's row.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/embedding.h"

namespace kernels::gpu {
namespace {

template <class T, int V>
__global__ void look_up(Embedding e, const std::int32_t* ids, const T* table, T* y) {
  for (std::int64_t token = blockIdx.x; token < e.tokens; token += gridDim.x) {
    const std::int64_t row = ids[token] - e.first;
    const bool here = row >= 0 && row < e.vocabulary;
    for (std::int64_t i = threadIdx.x * V; i < e.width; i += blockDim.x * V) {
      Pack<T, V> pack{};
      if (here) pack = load<V>(table + row * e.width + i);
      store(y + token * e.width + i, pack);
    }
  }
}

template <class T>
__global__ void scatter_add(Embedding e, const std::int32_t* ids, const T* dy, float* dtable) {
  for (std::int64_t token = blockIdx.x; token < e.tokens; token += gridDim.x) {
    const std::int64_t row = ids[token] - e.first;
    if (row < 0 || row >= e.vocabulary) continue;
    for (std::int64_t i = threadIdx.x; i < e.width; i += blockDim.x) {
      atomicAdd(dtable + row * e.width + i, to_float(dy[token * e.width + i]));
    }
  }
}

}  // namespace

void embedding_forward(const Embedding& e, Element element, const std::int32_t* ids, const void* table, void* y,
                       Stream stream) {
  with_packs(element, packs(element, e.width, table, y), [&]<class T, int V>() {
    launch(look_up<T, V>, {blocks_for(e.tokens, 1), threads_for(e.width / V)}, stream, e, ids, as<T>(table), as<T>(y));
  });
  check_launch("embedding forward");
}

void embedding_backward(const Embedding& e, Element element, const std::int32_t* ids, const void* dy, float* dtable,
                        Stream stream) {
  with_element(element, [&]<class T>() {
    launch(scatter_add<T>, {blocks_for(e.tokens, 1), threads_for(e.width)}, stream, e, ids, as<T>(dy), dtable);
  });
  check_launch("embedding backward");
}

}  // namespace kernels::gpu
