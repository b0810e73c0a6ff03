// kernels/vendor/cudnn_graph.h -- a graph of operations on tensors of four dimensions, written for cuDNN's backend
// interface. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudnn.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/types.h"

namespace kernels::vendor {

/// Throws DeviceError that names the call and cuDNN's own words, when the status is not success.
void check_cudnn(cudnnStatus_t status, const char* call);

/// A backend descriptor and its end of life.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t kind);
  ~Descriptor() { cudnnBackendDestroyDescriptor(handle_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  template <class Value>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const Value& value) {
    return set(name, type, 1, &value);
  }
  template <class Value>
  Descriptor& set_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const Value& values) {
    return set(name, type, static_cast<std::int64_t>(values.size()), values.data());
  }
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                  const void* values);
  Descriptor& set(cudnnBackendAttributeName_t name, std::int64_t value) { return set(name, CUDNN_TYPE_INT64, value); }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.handle_);
  }
  void finish() { check_cudnn(cudnnBackendFinalize(handle_), "cudnnBackendFinalize"); }
  cudnnBackendDescriptor_t handle() const { return handle_; }

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};

using Sizes = std::array<std::int64_t, 4>;

/// Strides of a tensor whose elements lie one after another.
constexpr Sizes packed(const Sizes& size) { return {size[1] * size[2] * size[3], size[2] * size[3], size[3], 1}; }

/// A tensor of a graph; `id` names it when the graph is run.
struct Tensor {
  std::int64_t id = 0;
  Sizes size{};
  const Descriptor* descriptor = nullptr;
};

/// Operations in the order in which they are written; each gives a tensor that only the graph knows, unless it is told
/// to write one of the caller's. Computes in fp32.
class Graph {
 public:
  Tensor in_memory(const Sizes& size, const Sizes& stride, cudnnDataType_t type);
  /// An fp32 number that the caller gives with each run.
  Tensor scalar();
  Tensor inner(const Sizes& size, const Sizes& stride, cudnnDataType_t type);
  Tensor inner(const Sizes& size, cudnnDataType_t type = CUDNN_DATA_FLOAT) { return inner(size, packed(size), type); }

  void matmul(const Tensor& a, const Tensor& b, const Tensor& product);
  void reduce(cudnnReduceTensorOp_t how, const Tensor& x, const Tensor& result);
  void reshape(const Tensor& x, const Tensor& result);
  void pointwise(cudnnPointwiseMode_t mode, const Tensor& x, const std::optional<Tensor>& y, const Tensor& result);
  Tensor pointwise(cudnnPointwiseMode_t mode, const Tensor& x, const std::optional<Tensor>& y = {},
                   cudnnDataType_t type = CUDNN_DATA_FLOAT);
  /// x where the index of the query (dimension 2) is not below that of the key (dimension 3), else `otherwise`.
  Tensor lower_triangle(const Tensor& x, const Tensor& otherwise);

  std::vector<cudnnBackendDescriptor_t> operations() const;

 private:
  Descriptor& make(cudnnBackendDescriptorType_t kind);
  Tensor tensor(const Sizes& size, const Sizes& stride, cudnnDataType_t type, bool inner, bool by_value);
  Tensor index_along(std::int64_t axis, const Tensor& x);
  Descriptor& pointwise_mode(cudnnPointwiseMode_t mode, cudnnDataType_t precision,
                             std::optional<std::int64_t> axis = {});
  void finish_operation(Descriptor& operation);

  std::vector<std::unique_ptr<Descriptor>> descriptors_;
  std::vector<const Descriptor*> operations_;
  std::int64_t next_id_ = 1;
};

}  // namespace kernels::vendor
