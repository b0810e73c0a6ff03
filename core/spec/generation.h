// core/spec/generation.h -- generations of GPUs, and what the rest of the house has to know of each: a row of
// traits_of(). What their kernels reach is a file of topologies/calibrations, `defaults-<generation>.yaml`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/attention_kernel.h"
#include "core/spec/names.h"

namespace spec {

/// From the least able of a maker's to the most able: in a mixed cluster the least able sets what all compute in.
enum class Generation { volta, turing, ampere, ada, blackwell_rtx, hopper, blackwell, cdna3, cdna4 };
template <>
inline constexpr auto kNamesOf<Generation> = spelt("volta", "turing", "ampere", "ada", "blackwell-rtx", "hopper",
                                                   "blackwell", "cdna3", "cdna4");

/// Heads that cuDNN's attention in fp8 takes, forward and backward: keys and values alike, or 192 and 128.
enum class NarrowHeads { none, of_128, up_to_128 };

struct GenerationTraits {
  bool amd = false;                                                 // RCCL and ROCm in place of NCCL and CUDA
  bool flash1 = true, flash2 = true, flash3 = false, cudnn = true;  // attention kernels that exist for it
  bool sparse = false;                                              // attention to keys that an indexer chose
  bool wide_cudnn_heads = false;                                    // cuDNN's backward takes heads of 128 to 256
  double mem_efficient_forward = 0.94;                              // pace of that kernel over flash2's
  AttentionKernel best_attention = AttentionKernel::flash2;
  bool framework_chooses_attention = false;  // which of several good ones it has: `hopper_attention` of a profile
  NarrowHeads fp8_attention = NarrowHeads::none;
  bool multiplies_any_layout = false;  // of operands in fp8 of one scale; else each is cast a second time, turned
  bool row_and_block_scales = false;   // cuBLASLt multiplies operands with a scale for each row or block of 128
  bool fuses_experts = false;          // cuDNN's front end has grouped matmuls with the activation and casts in them
  bool trains_microscaled = true;      // libraries multiply mxfp8 and nvfp4 in every layout that training needs
  bool software_of_2025 = false;       // nothing older runs on it
  bool one_hardware_queue = true;      // Megatron's overlaps need CUDA_DEVICE_MAX_CONNECTIONS=1
};

constexpr GenerationTraits traits_of(Generation generation) {
  switch (generation) {
    case Generation::volta: return {.flash1 = false, .flash2 = false, .cudnn = false};
    case Generation::turing: return {.flash2 = false, .cudnn = false};
    case Generation::ampere:
    case Generation::ada: return {};
    // Compute capability 12: no tensor memory, so that FlashAttention 2 is as good as any. Transformer Engine (2.4 to
    // 2.15, 2025 to 2026) multiplies fp8 in one layout there (nvte_is_non_tn_fp8_gemm_supported) and refuses mxfp8
    // (pytorch/quantization.py; Megatron-LM issue 4175); its kernels for nvfp4 are those of capability 10 (issue 2255,
    // pull request 3195). Heads of cuDNN end at 128 (pytorch issue 181379).
    case Generation::blackwell_rtx:
      return {.trains_microscaled = false, .software_of_2025 = true, .one_hardware_queue = false};
    case Generation::hopper:
      return {.flash3 = true,
              .sparse = true,
              .wide_cudnn_heads = true,
              .mem_efficient_forward = 0.63,
              .framework_chooses_attention = true,
              .fp8_attention = NarrowHeads::of_128,
              .row_and_block_scales = true};
    case Generation::blackwell:
      return {.sparse = true,
              .wide_cudnn_heads = true,
              .mem_efficient_forward = 0.63,             // as on Hopper
              .best_attention = AttentionKernel::cudnn,  // the others do not use its tensor cores
              .fp8_attention = NarrowHeads::up_to_128,
              .multiplies_any_layout = true,
              .fuses_experts = true,
              .software_of_2025 = true,
              .one_hardware_queue = false};
    case Generation::cdna3: return {.amd = true, .cudnn = false};
    case Generation::cdna4: return {.amd = true, .cudnn = false, .software_of_2025 = true};  // ROCm 7
  }
  return {};
}

}  // namespace spec
