// core/spec/attention_kernels.cpp -- which attention kernels exist for a GPU, and which is best (declared in job.h).
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/job.h"

namespace spec {

namespace {

bool runs_on(Generation g, AttentionKernel kernel, const Job& job) {
  const bool serves = job.training.serves();
  const bool half = bytes_of(storage(job.training.precision)) == 2;
  const GenerationTraits has = traits_of(g);
  const std::int64_t head_dim = job.model.query_head_dim();
  if (job.model.indexer) return kernel == AttentionKernel::sparse && half && has.sparse;
  switch (kernel) {
    case AttentionKernel::unfused: return true;
    case AttentionKernel::fused_softmax: return half;
    case AttentionKernel::flash1: return half && has.flash1 && head_dim <= 128;
    case AttentionKernel::flash2: return half && has.flash2 && head_dim <= 256;
    case AttentionKernel::flash3: return half && has.flash3 && head_dim <= 256;
    case AttentionKernel::cudnn: return half && has.cudnn && head_dim <= (has.wide_cudnn_heads || serves ? 256 : 128);
    case AttentionKernel::sparse: return false;  // nothing chooses keys
    case AttentionKernel::mem_efficient: return !has.amd && !serves;
  }
  return false;
}

/// The least able kind of node decides, unless one has a better kernel than FlashAttention 2.
AttentionKernel first_choice(const Job& job) {
  for (int kind = 0; kind < job.cluster.kinds(); ++kind) {
    const AttentionKernel best = traits_of(job.cluster.node_of(kind).gpu.generation).best_attention;
    if (best != AttentionKernel::flash2) return best;
  }
  const bool chosen = traits_of(job.cluster.node.gpu.generation).framework_chooses_attention;
  return chosen ? job.framework.hopper_attention : AttentionKernel::flash2;
}

}  // namespace

const Gpu* gpu_without(AttentionKernel kernel, const Job& job) {
  for (int kind = 0; kind < job.cluster.kinds(); ++kind) {
    const Gpu& gpu = job.cluster.node_of(kind).gpu;
    if (!runs_on(gpu.generation, kernel, job)) return &gpu;
  }
  return nullptr;
}

bool attention_is_usual(AttentionKernel kernel, const Job& job) {
  const bool amd = traits_of(job.cluster.node.gpu.generation).amd;
  return !job.model.mla || job.framework.pads_latent_values || !wants_equal_heads(kernel, amd);
}

AttentionKernel best_attention(const Job& job) {
  if (job.model.indexer) return AttentionKernel::sparse;
  if (job.training.fp8_attention && !job.training.serves()) return AttentionKernel::cudnn;  // else refused
  // The later ones are for clusters of several kinds: FlashAttention 3 is for Hopper alone.
  for (const AttentionKernel kernel :
       {first_choice(job), AttentionKernel::cudnn, AttentionKernel::flash2, AttentionKernel::fused_softmax}) {
    if (attention_is_usual(kernel, job) && !gpu_without(kernel, job)) return kernel;
  }
  return AttentionKernel::unfused;
}

}  // namespace spec
