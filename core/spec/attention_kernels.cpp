// core/spec/attention_kernels.cpp -- which attention kernels exist for a GPU, and which is best (declared in job.h).
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/job.h"

namespace spec {

namespace {

bool runs_on(Generation g, AttentionKernel kernel, const Job& job) {
  const bool half = bytes_of(storage(job.training.precision)) == 2;
  const bool tensor_generation = g != Generation::volta && g != Generation::turing;
  switch (kernel) {
    case AttentionKernel::unfused: return true;
    case AttentionKernel::fused_softmax: return half;
    case AttentionKernel::flash1: return half && g != Generation::volta && job.model.query_head_dim() <= 128;
    case AttentionKernel::flash2: return half && tensor_generation && job.model.query_head_dim() <= 256;
    case AttentionKernel::flash3: return half && g == Generation::hopper && job.model.query_head_dim() <= 256;
    case AttentionKernel::cudnn:
      return half && tensor_generation && g != Generation::cdna3 && job.model.query_head_dim() <= 256;
  }
  return false;
}

bool any_is(Generation generation, const Job& job) {
  for (int kind = 0; kind < job.cluster.kinds(); ++kind) {
    if (job.cluster.node_of(kind).gpu.generation == generation) return true;
  }
  return false;
}

bool runs_on_all(AttentionKernel kernel, const Job& job) {
  for (int kind = 0; kind < job.cluster.kinds(); ++kind) {
    if (!runs_on(job.cluster.node_of(kind).gpu.generation, kernel, job)) return false;
  }
  return true;
}

}  // namespace

bool attention_runs(AttentionKernel kernel, const Job& job) {
  return runs_on(job.cluster.node.gpu.generation, kernel, job);
}

AttentionKernel best_attention(const Job& job) {
  const Generation g = job.cluster.node.gpu.generation;
  // On Blackwell only cuDNN's kernels use the new tensor cores; on Hopper it is the framework's choice.
  const AttentionKernel first = any_is(Generation::blackwell, job) ? AttentionKernel::cudnn
                                : g == Generation::hopper          ? job.framework.hopper_attention
                                                                   : AttentionKernel::flash2;
  // The later ones are for clusters of several kinds: FlashAttention 3 is for Hopper alone.
  for (const AttentionKernel kernel :
       {first, AttentionKernel::cudnn, AttentionKernel::flash2, AttentionKernel::fused_softmax}) {
    if (runs_on_all(kernel, job)) return kernel;
  }
  return AttentionKernel::unfused;
}

}  // namespace spec
