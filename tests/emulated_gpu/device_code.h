// tests/emulated_gpu/device_code.h -- what nvcc gives a kernel, for a compiler of C++: included ahead of each .cu file.
// What a function does is said in the CUDA C++ programming guide, "C++ language extensions".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>

#include "tests/emulated_gpu/block.h"

// What the toolkit's headers say of these is for nvcc. One CPU thread runs a block, so that its shared memory is one of
// that thread's variables; like a GPU's, it is what the last block left.
#undef __host__
#undef __device__
#undef __global__
#undef __shared__
#undef __grid_constant__
#undef __launch_bounds__
#define __host__
#define __device__
#define __global__
#define __shared__ static thread_local
#define __grid_constant__
#define __launch_bounds__(...)

#define threadIdx (::emulated_gpu::here.thread)
#define blockIdx (::emulated_gpu::here.block)
#define blockDim (::emulated_gpu::here.threads)
#define gridDim (::emulated_gpu::here.blocks)

#define EMULATED_HERE std::source_location at = std::source_location::current()

inline void __syncthreads(EMULATED_HERE) { emulated_gpu::wait_for_block(false, at); }
inline int __syncthreads_count(int predicate, EMULATED_HERE) {
  return emulated_gpu::wait_for_block(predicate != 0, at);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, EMULATED_HERE) { emulated_gpu::wait_for_lanes(mask, 0, at); }
inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATED_HERE) {
  unsigned votes = 0;
  const auto& said = emulated_gpu::wait_for_lanes(mask, predicate != 0, at);
  for (unsigned lane = 0; lane < emulated_gpu::kWarp; ++lane) votes |= static_cast<unsigned>(said[lane]) << lane;
  return votes;
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int turn, EMULATED_HERE) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  word = emulated_gpu::wait_for_lanes(mask, word, at)[emulated_gpu::here.lane ^ static_cast<unsigned>(turn)];
  std::memcpy(&value, &word, sizeof value);
  return value;
}

template <class T>
cudaError_t cudaFuncSetAttribute(T* kernel, cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

template <class T>
T atomicAdd(T* at, std::type_identity_t<T> x) {
  const T old = *at;
  *at += x;
  return old;
}
inline int atomicMax(int* at, int x) {
  const int old = *at;
  if (x > old) *at = x;
  return old;
}

inline int __popc(unsigned x) { return std::popcount(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
void __stcs(T* to, T value) {
  *to = value;
}
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline float fast_expf(float x) { return std::exp(x); }
#define __expf fast_expf  // the C library declares a function of this name, which it does not have

template <std::integral A, std::integral B>
auto min(A a, B b) {
  return a < b ? a : b;
}
template <std::integral A, std::integral B>
auto max(A a, B b) {
  return a < b ? b : a;
}
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
