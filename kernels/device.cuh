// kernels/device.cuh -- what the .cu files share: elements as floats, packs of 16 bytes, sums over a block, launches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "kernels/launch.cuh"
#include "kernels/types.h"

namespace kernels::gpu {

inline constexpr int kWarp = 32, kBlock = 256, kWarps = kBlock / kWarp;
inline constexpr unsigned kAll = 0xffffffffu;  // every lane of a warp

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }

template <class T>
__device__ T from_float(float x) {
  if constexpr (sizeof(T) == sizeof(float))
    return x;
  else
    return __float2bfloat16(x);
}

/// V neighbours, read and written at once. An address must be a multiple of 16, or of V elements if that is less.
template <class T, int V>
struct alignas(sizeof(T) * V < 16 ? sizeof(T) * V : 16) Pack {
  T element[V];

  __device__ float operator[](int i) const { return to_float(element[i]); }
  __device__ void set(int i, float x) { element[i] = from_float<T>(x); }
};

template <int V, class T>
__device__ Pack<T, V> load(const T* at) {
  return *reinterpret_cast<const Pack<T, V>*>(at);
}
template <int V, class T>
__device__ void store(T* at, const Pack<T, V>& pack) {
  *reinterpret_cast<Pack<T, V>*>(at) = pack;
}

/// Threads of a block that keeps a row in registers, and such blocks of an SM: 64 registers are left to a thread.
inline constexpr int kRowThreads = 512, kRowBlocks = 2;

/// Packs of a thread that are on their way at once, where it reads many.
inline constexpr int kTogether = 4;

/// First index of this thread in a grid that strides over a flat array, and the stride.
__device__ inline std::int64_t grid_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline std::int64_t grid_stride() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

struct Sum {
  static __device__ float none() { return 0; }
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Maximum {
  static __device__ float none() { return -INFINITY; }
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// Every lane gets the result.
template <class Reduction = Sum>
__device__ float warp_reduce(float x) {
  for (int step = kWarp / 2; step > 0; step /= 2) x = Reduction()(x, __shfl_xor_sync(kAll, x, step));
  return x;
}

/// Every thread of the block gets the result. blockDim.x is a multiple of a warp; all threads call it.
template <class Reduction = Sum>
__device__ float block_reduce(float x) {
  __shared__ float of_warp[kWarp];
  x = warp_reduce<Reduction>(x);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = x;
  __syncthreads();
  x = threadIdx.x % kWarp < blockDim.x / kWarp ? of_warp[threadIdx.x % kWarp] : Reduction::none();
  x = warp_reduce<Reduction>(x);
  __syncthreads();  // of_warp may be written again
  return x;
}

template <class T>
const T* as(const void* pointer) {
  return static_cast<const T*>(pointer);
}
template <class T>
T* as(void* pointer) {
  return static_cast<T*>(pointer);
}

/// May packs of so many bytes be read from there? Null counts as yes.
__host__ __device__ inline bool aligned(const void* pointer, std::size_t bytes = 16) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

/// May rows of `width` elements at these addresses be read in packs of 16 bytes? Null counts as yes.
template <class... Pointers>
bool packs(Element element, std::int64_t width, Pointers... pointers) {
  return (aligned(pointers) && ...) && width % (element == Element::bf16 ? 8 : 4) == 0;
}

/// Calls body.operator()<T, V>() with the element's type and the number of elements in a pack.
template <class Body>
void with_packs(Element element, bool wide, Body body) {
  if (element == Element::bf16) {
    wide ? body.template operator()<__nv_bfloat16, 8>() : body.template operator()<__nv_bfloat16, 1>();
  } else {
    wide ? body.template operator()<float, 4>() : body.template operator()<float, 1>();
  }
}
template <class Body>
void with_element(Element element, Body body) {
  element == Element::bf16 ? body.template operator()<__nv_bfloat16>() : body.template operator()<float>();
}

/// Blocks of a grid that strides over `count` things, `each` of them a block.
inline unsigned blocks_for(std::int64_t count, std::int64_t each = kBlock, unsigned most = kMostBlocks) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((count + each - 1) / each, 1, most));
}

/// Threads for a block that works on a row of `packs`: whole warps, no more than have work.
inline unsigned threads_for(std::int64_t packs, std::int64_t most = 512) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((packs + kWarp - 1) / kWarp * kWarp, kWarp, most));
}

/// After a launch. Errors of kernels that still run show at a later call.
inline void check_launch(const char* kernel) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) throw DeviceError(std::string(kernel) + ": " + cudaGetErrorString(error));
}

}  // namespace kernels::gpu
