// SPDX-License-Identifier: Apache-2.0
#include "core/spec/fused_experts.h"

#include "core/spec/fillers.h"

namespace spec {
namespace {

constexpr std::int64_t kWidths = 64;  // divides what the kernels take

}  // namespace

std::string no_fused_experts(const Job& job) {
  const Model& m = job.model;
  const Strategy& s = job.strategy;
  if (!m.moe) return "a model without experts";
  if (job.training.serves()) return "prefill and decode";
  if (job.training.precision != Dtype::mxfp8) return "a precision other than mxfp8";
  if (!job.framework.keeps_casts) return "framework " + job.framework.name;
  const bool gated = m.activation == Activation::swiglu || m.activation == Activation::clamped_swiglu;
  if (!gated || !m.gated_mlp) return "an activation other than swiglu";
  if (m.expert_width() % kWidths != 0 || m.moe->ffn % kWidths != 0) {
    return "a width of experts that " + std::to_string(kWidths) + " does not divide";
  }
  if (s.lora) return "adapters";
  if (s.recompute.modules.moe_act || job.training.fp8_activation_inputs) {
    return "activations that are computed again or whose inputs are kept in fp8";
  }
  // Consumer chips of that generation, which no NVLink joins, have other tensor cores (sm_120).
  for (int kind = 0; kind < job.cluster.kinds(); ++kind) {
    const Gpu& gpu = job.cluster.node_of(kind).gpu;
    if (!traits_of(gpu.generation).fuses_experts || job.cluster.node_of(kind).nvlink.via == Switch::none)
      return gpu.name;
  }
  return {};
}

void fill_fused_experts(Job& job) {
  const Strategy& s = job.strategy;
  const bool captured = s.cuda_graphs == CudaGraphs::whole && !s.moe_capacity_factor;
  const bool usual = job.framework.fused.experts.value_or(job.framework.recipes_of_fp8_gpus && captured);
  // Of a rank, too, of whose width the kernel asks the same; etp is known by now.
  const bool fused = usual && no_fused_experts(job).empty() && job.model.moe->ffn % (kWidths * s.etp) == 0;
  Filler(job, captured ? "whole-step graphs without dropped tokens" : "default of " + job.framework.name)
      .fill(job.strategy.fused_kernels.experts, fused, "fused_kernels.experts", fused);
}

}  // namespace spec
