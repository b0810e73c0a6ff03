// real/gpu/bench/arena.h -- memory of the GPU for the operands of a point, filled with random numbers: zeros draw less
// power, and kernels run faster on them. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "real/cuda/pool.h"

namespace real {

enum class Filling { bf16, f32, fp8 };  // numbers between -1 and 1; fp8: e4m3

class Arena {
 public:
  /// Takes at most `most`, and leaves a third of what is free. Its stream must outlive it.
  Arena(base::Bytes most, const Stream&);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// What was taken before is free again.
  void clear() { used_ = 0; }

  // Each is to a multiple of 256 bytes, and throws base::DeviceError when it does not fit.
  void* numbers(std::int64_t count, Filling);
  float* floats(std::int64_t count) { return static_cast<float*>(numbers(count, Filling::f32)); }
  std::int32_t* indices(std::int64_t count, std::int64_t below);
  void* room(std::int64_t bytes);  // as it is: for results
  void zero(void* to, std::int64_t bytes) const;

  /// Writes so many bytes at the arena's end, past every cache's size, in the stream's order.
  void empty_caches() const;
  /// Keeps the device busy for about a millisecond, so that the host can issue what is to follow without a gap.
  void delay() const;
  std::int64_t bytes() const { return bytes_; }

 private:
  /// Copies the pattern's bytes over and over.
  void fill(void* to, std::int64_t bytes, const void* pattern, std::int64_t pattern_bytes) const;

  const Stream& stream_;
  std::byte* memory_ = nullptr;
  std::int64_t bytes_ = 0, used_ = 0;
  PinnedBuffer bf16_, f32_, fp8_, indices_;
};

}  // namespace real
