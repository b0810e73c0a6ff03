// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/bench/arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>

#include "core/base/fault.h"
#include "core/base/text.h"
#include "real/cuda/device.h"

namespace real {
namespace {

constexpr std::int64_t kPattern = std::int64_t{16} << 20;  // bytes; longer than what matmuls read at once
constexpr std::int64_t kCaches = std::int64_t{256} << 20;  // above the L2 of every GPU of the catalogue
constexpr std::int64_t kAlignment = 256;

std::size_t width(Filling filling) { return filling == Filling::f32 ? 4 : filling == Filling::bf16 ? 2 : 1; }

base::Bytes human_bytes(std::int64_t bytes) { return base::Bytes(static_cast<double>(bytes)); }

/// The upper half of an fp32 number is a bf16 one, cut.
void draw_numbers(const PinnedBuffer& f32, const PinnedBuffer& bf16) {
  std::minstd_rand random(1);
  for (std::size_t i = 0; i < f32.bytes() / 4; ++i) {
    const float value = static_cast<float>(random()) / static_cast<float>(std::minstd_rand::max()) * 2 - 1;
    static_cast<float*>(f32.data())[i] = value;
  }
  for (std::size_t i = 0; i < bf16.bytes() / 2; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<const float*>(f32.data())[i % (f32.bytes() / 4)]);
    static_cast<std::uint16_t*>(bf16.data())[i] =
        static_cast<std::uint16_t>((bits ^ (i / (f32.bytes() / 4)) << 16) >> 16);
  }
}

/// e4m3 below 1: exponents below the bias of 7, so that no code is one of no number.
void draw_codes(const PinnedBuffer& fp8) {
  std::minstd_rand random(2);
  for (std::size_t i = 0; i < fp8.bytes(); ++i) {
    const auto bits = static_cast<unsigned>(random() >> 8);
    static_cast<std::uint8_t*>(fp8.data())[i] = static_cast<std::uint8_t>((bits & 0x80) | (bits & 0x7f) % 0x38);
  }
}

}  // namespace

Arena::Arena(base::Bytes most, const Stream& stream)
    : stream_(stream), bf16_(kPattern), f32_(kPattern), fp8_(kPattern), indices_(kPattern) {
  const double bytes = std::min(most.si(), free_memory().si() * 2 / 3);
  bytes_ = static_cast<std::int64_t>(bytes) / kAlignment * kAlignment;
  if (bytes_ < 4 * kCaches) {
    throw base::DeviceError("the GPU has " + base::human(free_memory()) + " free, too little to time anything");
  }
  check(cudaMalloc(reinterpret_cast<void**>(&memory_), static_cast<std::size_t>(bytes_)), "cudaMalloc");
  draw_numbers(f32_, bf16_);
  draw_codes(fp8_);
}

Arena::~Arena() { cudaFree(memory_); }

void* Arena::room(std::int64_t bytes) {
  const std::int64_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (used_ + whole > bytes_ - kCaches) {
    throw base::DeviceError(
        fmt::format("needs more memory than the {} that are free for it", base::human(human_bytes(bytes_ - kCaches))));
  }
  void* const out = memory_ + used_;
  used_ += whole;
  return out;
}

void* Arena::numbers(std::int64_t count, Filling filling) {
  const PinnedBuffer& pattern = filling == Filling::f32 ? f32_ : filling == Filling::bf16 ? bf16_ : fp8_;
  const auto bytes = count * static_cast<std::int64_t>(width(filling));
  void* const out = room(bytes);
  fill(out, bytes, pattern.data(), kPattern);
  return out;
}

std::int32_t* Arena::indices(std::int64_t count, std::int64_t below) {
  const std::int64_t drawn = std::min<std::int64_t>(count, kPattern / 4);
  stream_.synchronize();  // an earlier copy of the pattern may be under way
  std::minstd_rand random(3);
  for (std::int64_t i = 0; i < drawn; ++i) {
    static_cast<std::int32_t*>(indices_.data())[i] =
        static_cast<std::int32_t>(static_cast<std::int64_t>(random()) % below);
  }
  void* const out = room(count * 4);
  fill(out, count * 4, indices_.data(), drawn * 4);
  return static_cast<std::int32_t*>(out);
}

void Arena::fill(void* to, std::int64_t bytes, const void* pattern, std::int64_t pattern_bytes) const {
  auto* const first = static_cast<std::byte*>(to);
  std::int64_t done = std::min(bytes, pattern_bytes);
  check(cudaMemcpyAsync(first, pattern, static_cast<std::size_t>(done), cudaMemcpyHostToDevice, stream_.get()),
        "cudaMemcpyAsync");
  while (done < bytes) {  // what is there doubles
    const std::int64_t more = std::min(done, bytes - done);
    check(cudaMemcpyAsync(first + done, first, static_cast<std::size_t>(more), cudaMemcpyDeviceToDevice, stream_.get()),
          "cudaMemcpyAsync");
    done += more;
  }
}

void Arena::zero(void* to, std::int64_t bytes) const {
  check(cudaMemsetAsync(to, 0, static_cast<std::size_t>(bytes), stream_.get()), "cudaMemsetAsync");
}

void Arena::empty_caches() const {
  check(cudaMemsetAsync(memory_ + bytes_ - kCaches, 1, static_cast<std::size_t>(kCaches), stream_.get()),
        "cudaMemsetAsync");
}

void Arena::delay() const {
  for (int i = 0; i < 16; ++i) empty_caches();  // 4 GiB
}

}  // namespace real
