// kernels/types.h -- what every kernel's interface speaks of: CPU references take spans of double, GPU launches take
// raw device pointers, the type of their elements and a stream. Needs no CUDA header.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>

struct CUstream_st;  // of CUDA, declared here so that it is the global one

namespace kernels {

/// Type of the elements behind an untyped device pointer. Sums are always taken in fp32.
enum class Element { f32, bf16 };

/// A cudaStream_t, which this is a synonym of.
using Stream = CUstream_st*;

/// The GPU or its driver refused a launch; the message names the kernel and the driver's reason.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Arrays of the CPU references, row-major. Where a comment allows it, an empty one stands for "none".
using Input = std::span<const double>;
using Output = std::span<double>;
using Indices = std::span<const std::int32_t>;

}  // namespace kernels
