// core/spec/attention_kernels.cpp -- which attention kernels exist for a GPU, and which is best (declared in job.h).
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/job.h"

namespace spec {

bool attention_runs(AttentionKernel kernel, const Job& job) {
  if (kernel == AttentionKernel::unfused) return true;
  const Generation g = job.cluster.node.gpu.generation;
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

AttentionKernel best_attention(const Job& job) {
  const Generation g = job.cluster.node.gpu.generation;
  // Megatron reaches Hopper's attention through Transformer Engine, whose first choice there is cuDNN; others install
  // FlashAttention 3. On Blackwell only cuDNN's kernels use the new tensor cores.
  const bool megatron = job.strategy.framework == "megatron";
  const bool cudnn = g == Generation::blackwell || (g == Generation::hopper && megatron);
  const AttentionKernel first = cudnn                     ? AttentionKernel::cudnn
                                : g == Generation::hopper ? AttentionKernel::flash3
                                                          : AttentionKernel::flash2;
  for (const AttentionKernel kernel : {first, AttentionKernel::fused_softmax}) {
    if (attention_runs(kernel, job)) return kernel;
  }
  return AttentionKernel::unfused;
}

}  // namespace spec
