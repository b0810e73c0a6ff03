// kernels/vendor/cudnn_graph.cpp -- see cudnn_graph.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/vendor/cudnn_graph.h"

namespace kernels::vendor {

void check_cudnn(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char words[512] = {};
  cudnnGetLastErrorString(words, sizeof words);
  throw DeviceError(std::string(call) + ": " + cudnnGetErrorString(status) + ": " + words);
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t kind) {
  check_cudnn(cudnnBackendCreateDescriptor(kind, &handle_), "cudnnBackendCreateDescriptor");
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                            const void* values) {
  check_cudnn(cudnnBackendSetAttribute(handle_, name, type, count, values), "cudnnBackendSetAttribute");
  return *this;
}

Descriptor& Graph::make(cudnnBackendDescriptorType_t kind) {
  return *descriptors_.emplace_back(std::make_unique<Descriptor>(kind));
}

Tensor Graph::tensor(const Sizes& size, const Sizes& stride, cudnnDataType_t type, bool inner, bool by_value) {
  Descriptor& descriptor = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const Tensor tensor{next_id_++, size, &descriptor};
  descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type)
      .set_all(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, size)
      .set_all(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, stride)
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, tensor.id)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16})
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, inner);
  if (by_value) descriptor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, by_value);
  descriptor.finish();
  return tensor;
}

Tensor Graph::in_memory(const Sizes& size, const Sizes& stride, cudnnDataType_t type) {
  return tensor(size, stride, type, false, false);
}
Tensor Graph::scalar() { return tensor({1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT, false, true); }
Tensor Graph::inner(const Sizes& size, const Sizes& stride, cudnnDataType_t type) {
  return tensor(size, stride, type, true, false);
}

void Graph::finish_operation(Descriptor& operation) {
  operation.finish();
  operations_.push_back(&operation);
}

void Graph::matmul(const Tensor& a, const Tensor& b, const Tensor& product) {
  Descriptor& how = make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT).finish();
  finish_operation(make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
                       .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, *a.descriptor)
                       .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, *b.descriptor)
                       .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, *product.descriptor)
                       .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how));
}

void Graph::reduce(cudnnReduceTensorOp_t reduction, const Tensor& x, const Tensor& result) {
  Descriptor& how = make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, reduction)
      .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .finish();
  finish_operation(make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
                       .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, *x.descriptor)
                       .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, *result.descriptor)
                       .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how));
}

void Graph::reshape(const Tensor& x, const Tensor& result) {
  finish_operation(make(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)
                       .set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, *x.descriptor)
                       .set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, *result.descriptor));
}

Descriptor& Graph::pointwise_mode(cudnnPointwiseMode_t mode, cudnnDataType_t precision,
                                  std::optional<std::int64_t> axis) {
  Descriptor& how = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, precision);
  if (axis) how.set(CUDNN_ATTR_POINTWISE_AXIS, *axis);
  how.finish();
  return how;
}

void Graph::pointwise(cudnnPointwiseMode_t mode, const Tensor& x, const std::optional<Tensor>& y,
                      const Tensor& result) {
  const Descriptor& how = pointwise_mode(mode, mode == CUDNN_POINTWISE_CMP_GE ? CUDNN_DATA_BOOLEAN : CUDNN_DATA_FLOAT);
  Descriptor& operation = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x.descriptor);
  if (y) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *y->descriptor);
  finish_operation(operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *result.descriptor));
}

Tensor Graph::pointwise(cudnnPointwiseMode_t mode, const Tensor& x, const std::optional<Tensor>& y,
                        cudnnDataType_t type) {
  const Tensor result = inner(x.size, type);
  pointwise(mode, x, y, result);
  return result;
}

Tensor Graph::index_along(std::int64_t axis, const Tensor& x) {
  const Tensor result = inner(x.size, CUDNN_DATA_INT32);
  const Descriptor& how = pointwise_mode(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, axis);
  finish_operation(make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
                       .set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how)
                       .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x.descriptor)
                       .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *result.descriptor));
  return result;
}

Tensor Graph::lower_triangle(const Tensor& x, const Tensor& otherwise) {
  const Tensor query = index_along(2, x), key = index_along(3, x);
  const Tensor seen = pointwise(CUDNN_POINTWISE_CMP_GE, query, key, CUDNN_DATA_BOOLEAN);
  const Tensor result = inner(x.size);
  const Descriptor& how = pointwise_mode(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT);
  finish_operation(make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
                       .set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how)
                       .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x.descriptor)
                       .set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *otherwise.descriptor)
                       .set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *seen.descriptor)
                       .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *result.descriptor));
  return result;
}

std::vector<cudnnBackendDescriptor_t> Graph::operations() const {
  std::vector<cudnnBackendDescriptor_t> handles;
  for (const Descriptor* operation : operations_) handles.push_back(operation->handle());
  return handles;
}

}  // namespace kernels::vendor
