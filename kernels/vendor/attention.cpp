// kernels/vendor/attention.cpp -- see attention.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/vendor/attention.h"

#include <cuda_runtime.h>

#include <limits>
#include <map>
#include <utility>

#include "kernels/vendor/attention_graph.h"

namespace kernels::vendor {
namespace {

std::size_t round_up(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

AttentionGraph graph_of(const Attention& a, Pass pass) {
  return pass == Pass::forward ? attention_forward_graph(a) : attention_backward_graph(a);
}

using Configurations = std::vector<std::unique_ptr<Descriptor>>;

/// What cuDNN's heuristics offer for the graph, best first. `device` null: on the graph's own handle.
Configurations configurations_of(const Descriptor& graph, const Descriptor* device) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  if (device) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device);
  heuristics.finish();
  std::int64_t offered = 0, given = 0;
  check_cudnn(cudnnBackendGetAttribute(heuristics.handle(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &offered, nullptr),
              "cudnnBackendGetAttribute");
  Configurations configurations;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::int64_t i = 0; i < offered; ++i) {
    configurations.push_back(std::make_unique<Descriptor>(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    handles.push_back(configurations.back()->handle());
  }
  if (offered > 0) {
    check_cudnn(cudnnBackendGetAttribute(heuristics.handle(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                         CUDNN_TYPE_BACKEND_DESCRIPTOR, offered, &given, handles.data()),
                "cudnnBackendGetAttribute");
  }
  configurations.resize(given);
  return configurations;
}

/// A graph with the kernel that runs it.
class Plan {
 public:
  Plan(cudnnHandle_t handle, const Attention& a, Pass pass) : graph_(graph_of(a, pass)) {
    Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set_all(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, graph_.graph.operations())
        .set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    graph.finish();
    for (const auto& configuration : configurations_of(graph, nullptr)) {
      if (try_plan(handle, *configuration)) break;
    }
    if (!plan_) throw DeviceError("attention by cuDNN: no engine takes this shape on this device");
    std::int64_t bytes = 0, given = 0;
    check_cudnn(cudnnBackendGetAttribute(plan_->handle(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                         &given, &bytes),
                "cudnnBackendGetAttribute");
    own_bytes_ = round_up(static_cast<std::size_t>(bytes));
  }

  const AttentionGraph& graph() const { return graph_; }
  std::size_t own_bytes() const { return own_bytes_; }

  /// Addresses for each tensor in memory, and of each number on the host.
  void run(cudnnHandle_t handle, const std::vector<std::pair<Tensor, const void*>>& addresses, void* workspace,
           Stream stream) const {
    std::vector<std::int64_t> ids;
    std::vector<const void*> pointers;
    for (const auto& [tensor, address] : addresses) {
      if (tensor.id == 0) continue;
      ids.push_back(tensor.id);
      pointers.push_back(address);
    }
    check_cudnn(cudnnSetStream(handle, stream), "cudnnSetStream");
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids)
        .set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers)
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    pack.finish();
    check_cudnn(cudnnBackendExecute(handle, plan_->handle(), pack.handle()), "cudnnBackendExecute");
  }

 private:
  /// False when the engine refuses after all, as some do when they compile.
  bool try_plan(cudnnHandle_t handle, const Descriptor& configuration) {
    auto plan = std::make_unique<Descriptor>(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan->set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration)
        .set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
    if (cudnnBackendFinalize(plan->handle()) != CUDNN_STATUS_SUCCESS) return false;
    plan_ = std::move(plan);
    return true;
  }

  AttentionGraph graph_;
  std::unique_ptr<Descriptor> plan_;
  std::size_t own_bytes_ = 0;
};

/// Bytes of the buffers that backward lends to its graph, behind the plan's own workspace.
std::size_t delta_bytes(const Attention& a) { return round_up(a.batch * a.heads * a.queries * sizeof(float)); }
std::size_t dq_sum_bytes(const Attention& a) {
  return round_up(a.batch * a.heads * a.queries * a.head_dim * sizeof(float));
}

/// From 9.6 on cuDNN's engines zero the sums of dq themselves. Source: NVIDIA/cudnn-frontend,
/// include/cudnn_frontend/node/scaled_dot_product_flash_attention.h, the backward's tensors in the workspace.
bool sums_want_zeros() { return cudnnGetVersion() < 90600; }

constexpr float kNothing = -std::numeric_limits<float>::infinity(), kOne = 1;

}  // namespace

struct AttentionLibrary::State {
  cudnnHandle_t handle = nullptr;
  std::map<std::pair<Pass, Attention>, Plan> plans;

  State() { check_cudnn(cudnnCreate(&handle), "cudnnCreate"); }
  ~State() {
    plans.clear();
    cudnnDestroy(handle);
  }
  /// What graphs do not have is refused in front of them.
  const Plan& plan(const Attention& a, Pass pass) {
    check_attention(a);
    return plans.try_emplace({pass, a.planned()}, handle, a, pass).first->second;
  }
};

AttentionLibrary::AttentionLibrary() : state_(std::make_unique<State>()) {}
AttentionLibrary::~AttentionLibrary() = default;

std::size_t AttentionLibrary::workspace_bytes(const Attention& a, Pass pass) {
  const std::size_t lent = pass == Pass::forward ? 0 : delta_bytes(a) + dq_sum_bytes(a);
  return state_->plan(a, pass).own_bytes() + lent;
}

void AttentionLibrary::forward(const Attention& a, const void* q, const void* k, const void* v, void* out, float* lse,
                               void* workspace, Stream stream) {
  const Plan& plan = state_->plan(a, Pass::forward);
  const AttentionGraph& g = plan.graph();
  const auto scale = static_cast<float>(a.scale);
  plan.run(state_->handle,
           {{g.q, q}, {g.k, k}, {g.v, v}, {g.out, out}, {g.lse, lse}, {g.scale, &scale}, {g.nothing, &kNothing}},
           workspace, stream);
}

void AttentionLibrary::backward(const Attention& a, const void* q, const void* k, const void* v, const void* out,
                                const float* lse, const void* dout, void* dq, void* dk, void* dv, void* workspace,
                                Stream stream) {
  const Plan& plan = state_->plan(a, Pass::backward);
  const AttentionGraph& g = plan.graph();
  const auto scale = static_cast<float>(a.scale);
  char* delta = static_cast<char*>(workspace) + plan.own_bytes();
  char* dq_sum = delta + delta_bytes(a);
  if (sums_want_zeros()) {
    const cudaError_t error = cudaMemsetAsync(dq_sum, 0, dq_sum_bytes(a), stream);
    if (error != cudaSuccess) throw DeviceError(std::string("attention by cuDNN: ") + cudaGetErrorString(error));
  }
  plan.run(state_->handle,
           {{g.q, q},
            {g.k, k},
            {g.v, v},
            {g.out, out},
            {g.lse, lse},
            {g.dout, dout},
            {g.dq, dq},
            {g.dk, dk},
            {g.dv, dv},
            {g.delta, delta},
            {g.dq_sum, dq_sum},
            {g.scale, &scale},
            {g.nothing, &kNothing},
            {g.one, &kOne}},
           workspace, stream);
}

int accepted_configurations(const Attention& a, Pass pass, const std::string& device) {
  const AttentionGraph attention = graph_of(a, pass);
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties
      .set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(device.size()) + 1,
           device.c_str())
      .finish();
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set_all(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, attention.graph.operations()).finish();
  return static_cast<int>(configurations_of(graph, &properties).size());
}

}  // namespace kernels::vendor
