// tests/emulated_gpu/libraries/cudnn_program.h -- what a graph of cuDNN's backend interface computes, operation by
// operation, as the interface documents them. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudnn.h>

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace emulated_gpu {

struct GraphTensor {
  std::int64_t id = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::array<std::int64_t, 4> size{}, stride{};
  bool is_virtual = false, by_value = false;
};

enum class Operation { matmul, reduction, reshape, pointwise };

struct Step {
  Operation operation;
  int mode = 0;  // of a reduction or pointwise
  std::int64_t axis = 0;
  std::vector<GraphTensor> inputs = {};  // of a selection: what is chosen from, and by what
  GraphTensor output = {};
};

/// Addresses by the tensors' ids; a number by value lies on the host, and is read at once.
using Addresses = std::map<std::int64_t, void*>;

class Program {
 public:
  explicit Program(std::vector<Step> steps) : steps_(std::move(steps)) {}

  /// Whether rows in memory are whole packs of 16 bytes, as cuDNN's kernels of attention read them.
  bool is_taken() const;
  /// Whether each tensor in memory has an address, to a multiple of 16 bytes, and no other one is given.
  bool fits(const Addresses&) const;
  std::map<std::int64_t, float> values(const Addresses&) const;
  /// Throws Fault for tensors outside of the GPU's arrays.
  void run(const Addresses&, const std::map<std::int64_t, float>& by_value, int gpu) const;

 private:
  std::map<std::int64_t, GraphTensor> given() const;
  std::vector<Step> steps_;
};

}  // namespace emulated_gpu
