// tests/emulated_gpu/libraries/number.h -- numbers of the types that libraries are told of, as floats.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <library_types.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tests/emulated_gpu/block.h"

namespace emulated_gpu {

inline std::size_t bytes_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_64F: return 8;
    case CUDA_R_32F:
    case CUDA_R_32I: return 4;
    case CUDA_R_16BF: return 2;
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
    case CUDA_R_8U: return 1;
    default: throw Fault("numbers of a type that is not emulated");
  }
}

/// OCP 8-bit floating point specification, table 1: no infinity in e4m3, whose largest code is no number.
inline float of_fp8(std::uint8_t code, int mantissa_bits, int bias) {
  const int exponent = (code & 0x7f) >> mantissa_bits, mantissa = code & ((1 << mantissa_bits) - 1);
  if (mantissa_bits == 3 ? (code & 0x7f) == 0x7f : exponent == 31) return NAN;
  const int shift = (exponent == 0 ? 1 : exponent) - bias - mantissa_bits;
  const auto whole = static_cast<float>(exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits));
  return std::ldexp(code & 0x80 ? -whole : whole, shift);
}

inline float load(const void* from, std::int64_t index, cudaDataType type) {
  const auto* const at = static_cast<const char*>(from) + index * static_cast<std::int64_t>(bytes_of(type));
  if (type == CUDA_R_8F_E4M3) return of_fp8(static_cast<std::uint8_t>(*at), 3, 7);
  if (type == CUDA_R_8F_E5M2) return of_fp8(static_cast<std::uint8_t>(*at), 2, 15);
  if (type == CUDA_R_16BF) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  if (type != CUDA_R_32F) throw Fault("numbers of a type that is not emulated");
  float value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Rounded to the nearest, ties to even.
inline void store(float value, void* to, std::int64_t index, cudaDataType type) {
  auto* const at = static_cast<char*>(to) + index * static_cast<std::int64_t>(bytes_of(type));
  if (type == CUDA_R_32F) {
    std::memcpy(at, &value, sizeof value);
    return;
  }
  if (type != CUDA_R_16BF) throw Fault("results of a type that is not emulated");
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = std::isnan(value) ? bits | 0x400000u : bits + 0x7fff + (bits >> 16 & 1u);
  const auto upper = static_cast<std::uint16_t>(rounded >> 16);
  std::memcpy(at, &upper, sizeof upper);
}

}  // namespace emulated_gpu
