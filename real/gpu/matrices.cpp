// real/gpu/matrices.cpp -- the GPU backend's matmuls by cuBLASLt, softmax, and attention by cuDNN or, where cuDNN
// refuses the shape, by the plain kernel. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "real/gpu/gpu_backend.h"
#include "real/gpu/number.h"
#include "real/measure/attention_shape.h"
#include "real/measure/element.h"

namespace real {

using kernels::vendor::Pass;

/// One for each stream, since runs of one library share its workspace. That is taken in the stream's order, before a
/// step is captured: cudaMalloc would wait for the device.
kernels::vendor::MatmulLibrary& GpuBackend::matmuls() {
  const auto found = matmuls_.find(current_);
  if (found != matmuls_.end()) return found->second.library;
  return matmuls_.try_emplace(current_, lend(kernels::vendor::MatmulLibrary::kWorkspace)).first->second.library;
}

void GpuBackend::matmul(const kernels::Matmul& m, const Tensor& a, const Tensor& b, const Tensor& c) {
  if (m.m == 0 || m.n == 0) return;
  launch([&] { matmuls().run(m, {number(a), number(b), number(c)}, {.a = at(a), .b = at(b), .c = at(c)}, raw()); });
}

void GpuBackend::batched_matmul(const kernels::BatchedMatmul& m, const Tensor& a, const Tensor& b, const Tensor& c) {
  launch([&] {
    if (!batched_matmuls_) batched_matmuls_.emplace();
    batched_matmuls_->run(m, number(a), at(a), at(b), at(c), raw());
  });
}

void GpuBackend::softmax_forward(const kernels::Softmax& s, const Tensor& scores, const Tensor& sinks,
                                 const Tensor& begins, const Tensor& probabilities, const Tensor& lse) {
  launch([&] {
    kernels::gpu::softmax_forward(s, element_of(scores.meaning), at(scores), at(sinks),
                                  begins ? as<std::int32_t>(begins) : nullptr, at(probabilities), as<float>(lse),
                                  raw());
  });
}

void GpuBackend::softmax_backward(const kernels::Softmax& s, const Tensor& probabilities, const Tensor& dprobabilities,
                                  const Tensor& dscores) {
  launch([&] {
    kernels::gpu::softmax_backward(s, element_of(dscores.meaning), at(probabilities), at(dprobabilities), at(dscores),
                                   raw());
  });
}

/// A plan is made, and the shape judged, when it is first met.
bool GpuBackend::cudnn_takes(const kernels::Attention& a, Pass pass) {
  const std::pair shape(pass, a.planned());
  if (const auto known = taken_.find(shape); known != taken_.end()) return known->second;
  try {
    if (!attention_) attention_.emplace();
    attention_->workspace_bytes(a, pass);
    return taken_[shape] = true;
  } catch (const kernels::DeviceError& refused) {
    plain_attention_.insert(refused.what());
    return taken_[shape] = false;
  }
}

void GpuBackend::attention_forward(const kernels::Attention& shape, const Tensor& q, const Tensor& k, const Tensor& v,
                                   const Tensor& out, const Tensor& lse) {
  const kernels::Attention a = simplest(shape);
  launch([&] {
    if (a.keys == 0 || !cudnn_takes(a, Pass::forward)) {  // of no keys: the plain kernel says so of each query
      kernels::gpu::attention_forward(a, element_of(q.meaning), at(q), at(k), at(v), at(out), as<float>(lse), raw());
      return;
    }
    const DeviceBuffer workspace = lend(attention_->workspace_bytes(a, Pass::forward));
    attention_->forward(a, at(q), at(k), at(v), at(out), as<float>(lse), workspace.data(), raw());
  });
}

void GpuBackend::attention_backward(const kernels::Attention& shape, const Tensor& q, const Tensor& k, const Tensor& v,
                                    const Tensor& out, const Tensor& lse, const Tensor& dout, const Tensor& dq,
                                    const Tensor& dk, const Tensor& dv) {
  const kernels::Attention a = simplest(shape);
  launch([&] {
    if (a.keys == 0 || !cudnn_takes(a, Pass::backward)) {
      kernels::gpu::attention_backward(a, element_of(q.meaning), at(q), at(k), at(v), at(out), as<float>(lse), at(dout),
                                       at(dq), at(dk), at(dv), raw());
      return;
    }
    const DeviceBuffer workspace = lend(attention_->workspace_bytes(a, Pass::backward));
    attention_->backward(a, at(q), at(k), at(v), at(out), as<float>(lse), at(dout), at(dq), at(dk), at(dv),
                         workspace.data(), raw());
  });
}

}  // namespace real
