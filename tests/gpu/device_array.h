// tests/gpu/device_array.h -- arrays on the GPU for tests: uploaded from doubles, or poisoned for a kernel to write.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/types.h"
#include "tests/kernels/gradients.h"

namespace test {

using kernels::Element;

inline void check(cudaError_t error) {
  if (error != cudaSuccess) throw kernels::DeviceError(cudaGetErrorString(error));
}

/// Upper half of the fp32, rounded to the nearest, ties to even. REQUIRES: no NaN.
inline std::uint16_t to_bf16(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline double from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// Memory of the GPU. A fresh one is all ones: NaN as fp32, bf16 and double, -1 as an integer.
template <class T>
class Device {
 public:
  explicit Device(std::size_t count) : count_(count) {
    check(cudaMalloc(&data_, bytes()));
    check(cudaMemset(data_, 0xff, bytes()));
  }
  explicit Device(const std::vector<T>& values) : Device(values.size()) {
    check(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice));
  }
  ~Device() { cudaFree(data_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  T* data() const { return static_cast<T*>(data_); }
  /// Waits for the kernels before it; an error of theirs shows here.
  std::vector<T> values() const {
    std::vector<T> values(count_);
    check(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  std::size_t bytes() const { return std::max<std::size_t>(count_, 1) * sizeof(T); }
  std::size_t count_;
  void* data_ = nullptr;
};

/// An array of the element type under test, seen as doubles.
class Array {
 public:
  Array(Element element, std::size_t count) : element_(element) { allocate(count); }
  Array(Element element, const Values& values) : element_(element) {
    if (element == Element::f32) {
      floats_ = std::make_unique<Device<float>>(std::vector<float>(values.begin(), values.end()));
    } else {
      std::vector<std::uint16_t> bits;
      for (double value : values) bits.push_back(to_bf16(value));
      halves_ = std::make_unique<Device<std::uint16_t>>(bits);
    }
  }

  Element element() const { return element_; }
  void* data() const { return floats_ ? static_cast<void*>(floats_->data()) : halves_->data(); }
  float* floats() const { return floats_->data(); }
  Values values() const {
    Values values;
    if (floats_) {
      for (float value : floats_->values()) values.push_back(value);
    } else {
      for (std::uint16_t bits : halves_->values()) values.push_back(from_bf16(bits));
    }
    return values;
  }

 private:
  void allocate(std::size_t count) {
    if (element_ == Element::f32) {
      floats_ = std::make_unique<Device<float>>(count);
    } else {
      halves_ = std::make_unique<Device<std::uint16_t>>(count);
    }
  }
  Element element_;
  std::unique_ptr<Device<float>> floats_;
  std::unique_ptr<Device<std::uint16_t>> halves_;
};

/// Normal values as the element holds them, so that the reference and the GPU see the same.
inline Values random_elements(Element element, std::size_t count, unsigned seed, double spread = 1) {
  Values values = random_values(count, seed, spread);
  for (double& value : values) value = element == Element::f32 ? static_cast<float>(value) : from_bf16(to_bf16(value));
  return values;
}

/// Relative tolerance of a result that is written as this element: a few roundings, each at most 2^-9 or 2^-24.
inline double tolerance(Element element) { return element == Element::bf16 ? 4e-3 : 1e-5; }

inline void expect_close(const Values& got, const Values& expected, double tolerance, const char* what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  EXPECT_LT(distance(got, expected), tolerance) << what;  // fails for a NaN that was left over, too
}

/// Both elements, and rows that fit packs of 16 bytes and rows that do not.
struct Case {
  Element element;
  std::int64_t width;
};
class Kernel : public testing::TestWithParam<Case> {
 protected:
  Element element() const { return GetParam().element; }
  std::int64_t width() const { return GetParam().width; }
  double close() const { return tolerance(element()); }
  Values random(std::size_t count, unsigned seed, double spread = 1) const {
    return random_elements(element(), count, seed, spread);
  }
};
inline const auto kCases = testing::Values(Case{Element::f32, 256}, Case{Element::f32, 37}, Case{Element::bf16, 1024},
                                           Case{Element::bf16, 37});
inline std::string case_name(const testing::TestParamInfo<Case>& info) {
  return (info.param.element == Element::f32 ? "f32_" : "bf16_") + std::to_string(info.param.width);
}

}  // namespace test
