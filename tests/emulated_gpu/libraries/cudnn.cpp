// tests/emulated_gpu/libraries/cudnn.cpp -- cuDNN's backend interface: descriptors, which an operation graph makes a
// program of. SPDX-License-Identifier: Apache-2.0
#include <cudnn.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "tests/emulated_gpu/block.h"
#include "tests/emulated_gpu/call.h"
#include "tests/emulated_gpu/libraries/cudnn_program.h"
#include "tests/emulated_gpu/libraries/matmul.h"

using namespace emulated_gpu;

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace {

constexpr std::int64_t kWorkspace = 1024;

struct Descriptor {
  cudnnBackendDescriptorType_t kind;
  std::map<cudnnBackendAttributeName_t, std::vector<std::byte>> attributes;
  bool finished = false;
  std::shared_ptr<const Program> program;  // of an operation graph and of what is made of it

  template <class T>
  std::vector<T> all(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return {};
    std::vector<T> out(found->second.size() / sizeof(T));
    std::memcpy(out.data(), found->second.data(), out.size() * sizeof(T));
    return out;
  }
  template <class T>
  T get(cudnnBackendAttributeName_t name) const {
    const std::vector<T> values = all<T>(name);
    if (values.size() != 1) throw Fault("a descriptor of cuDNN lacks an attribute");
    return values.front();
  }
  /// Of one that has been finished.
  const Descriptor& other(cudnnBackendAttributeName_t name) const {
    const auto* const found = static_cast<const Descriptor*>(get<void*>(name));
    if (!found->finished) throw Fault("a descriptor of cuDNN is used before it is finished");
    return *found;
  }
  bool has(cudnnBackendAttributeName_t name) const { return attributes.contains(name); }
};

Descriptor& of(cudnnBackendDescriptor_t handle) { return *static_cast<Descriptor*>(handle); }

std::optional<std::size_t> bytes_of_attribute(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return 8;
    case CUDNN_TYPE_DATA_TYPE:
    case CUDNN_TYPE_HEUR_MODE:
    case CUDNN_TYPE_POINTWISE_MODE:
    case CUDNN_TYPE_REDUCTION_OPERATOR_TYPE: return 4;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR: return 1;
    default: return std::nullopt;
  }
}

GraphTensor tensor_of(const Descriptor& d) {
  GraphTensor out{.id = d.get<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID),
                  .type = d.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE),
                  .is_virtual = d.get<char>(CUDNN_ATTR_TENSOR_IS_VIRTUAL) != 0,
                  .by_value = d.has(CUDNN_ATTR_TENSOR_IS_BY_VALUE) && d.get<char>(CUDNN_ATTR_TENSOR_IS_BY_VALUE) != 0};
  const auto size = d.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
             stride = d.all<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  if (size.size() != 4 || stride.size() != 4) throw Fault("a tensor of cuDNN has other than four dimensions");
  std::copy_n(size.begin(), 4, out.size.begin());
  std::copy_n(stride.begin(), 4, out.stride.begin());
  return out;
}

Step step_of(const Descriptor& d) {
  const auto tensor = [&](cudnnBackendAttributeName_t name) { return tensor_of(d.other(name)); };
  switch (d.kind) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return {.operation = Operation::matmul,
              .inputs = {tensor(CUDNN_ATTR_OPERATION_MATMUL_ADESC), tensor(CUDNN_ATTR_OPERATION_MATMUL_BDESC)},
              .output = tensor(CUDNN_ATTR_OPERATION_MATMUL_CDESC)};
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return {
          .operation = Operation::reduction,
          .mode =
              d.other(CUDNN_ATTR_OPERATION_REDUCTION_DESC).get<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR),
          .inputs = {tensor(CUDNN_ATTR_OPERATION_REDUCTION_XDESC)},
          .output = tensor(CUDNN_ATTR_OPERATION_REDUCTION_YDESC)};
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return {.operation = Operation::reshape,
              .inputs = {tensor(CUDNN_ATTR_OPERATION_RESHAPE_XDESC)},
              .output = tensor(CUDNN_ATTR_OPERATION_RESHAPE_YDESC)};
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: break;
    default: throw Fault("an operation of cuDNN that is not emulated");
  }
  const Descriptor& how = d.other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  Step step{.operation = Operation::pointwise,
            .mode = how.get<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE),
            .axis = how.has(CUDNN_ATTR_POINTWISE_AXIS) ? how.get<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS) : 0,
            .output = tensor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC)};
  for (const auto name : {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                          CUDNN_ATTR_OPERATION_POINTWISE_TDESC}) {
    if (d.has(name)) step.inputs.push_back(tensor(name));
  }
  return step;
}

void finish(Descriptor& d) {
  if (d.kind == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    std::vector<Step> steps;
    for (void* operation : d.all<void*>(CUDNN_ATTR_OPERATIONGRAPH_OPS)) steps.push_back(step_of(of(operation)));
    d.program = std::make_shared<Program>(std::move(steps));
  }
  if (d.kind == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) d.program = d.other(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).program;
  if (d.kind == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    d.program = d.other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).program;
  }
  d.finished = true;
}

template <class Body>
cudnnStatus_t guarded(Body body) {
  const cudaError_t status = call(body);
  return status == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // namespace

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
const char* cudnnGetErrorString(cudnnStatus_t) { return "the emulated cuDNN refuses this"; }
void cudnnGetLastErrorString(char* text, std::size_t bytes) {
  std::strncpy(text, Device::current().failure().c_str(), bytes);
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t kind, cudnnBackendDescriptor_t* handle) {
  *handle = new Descriptor{.kind = kind, .attributes = {}, .finished = false, .program = nullptr};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t handle) {
  delete &of(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t handle, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
  const std::optional<std::size_t> bytes = bytes_of_attribute(type);
  if (!bytes || of(handle).finished) return CUDNN_STATUS_BAD_PARAM;
  const auto* const first = static_cast<const std::byte*>(values);
  of(handle).attributes[name] = {first, first + static_cast<std::size_t>(count) * *bytes};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  return guarded([&] { finish(of(handle)); });
}

/// Of heuristics one configuration, where the graph is taken; of a plan its workspace.
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t handle, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, std::int64_t wanted, std::int64_t* count,
                                       void* values) {
  const Descriptor& d = of(handle);
  if (!d.finished) return CUDNN_STATUS_BAD_PARAM;
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    *static_cast<std::int64_t*>(values) = kWorkspace;
    return CUDNN_STATUS_SUCCESS;
  }
  if (name != CUDNN_ATTR_ENGINEHEUR_RESULTS) return CUDNN_STATUS_NOT_SUPPORTED;
  *count = d.program->is_taken() ? 1 : 0;
  if (wanted < 1 || *count == 0) return CUDNN_STATUS_SUCCESS;
  Descriptor& configuration = of(*static_cast<cudnnBackendDescriptor_t*>(values));
  configuration.program = d.program;
  configuration.finished = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  const auto ids = of(pack).all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = of(pack).all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  if (ids.size() != pointers.size() || !of(pack).finished || !of(plan).finished) return CUDNN_STATUS_BAD_PARAM;
  Addresses addresses;
  for (std::size_t i = 0; i < ids.size(); ++i) addresses[ids[i]] = pointers[i];
  const std::shared_ptr<const Program> program = of(plan).program;
  if (!program->fits(addresses)) return CUDNN_STATUS_BAD_PARAM;
  return guarded([&] {
    const int gpu = Device::current().index();
    Device::current().give(
        stream_of(handle->stream),
        in_workspace("attention by cuDNN", of(pack).get<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE), kWorkspace, gpu,
                     [=, values = program->values(addresses)] { program->run(addresses, values, gpu); }));
  });
}
