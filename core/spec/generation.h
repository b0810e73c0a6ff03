// core/spec/generation.h -- generations of GPUs, and what the rest of the house has to know of each: a row of
// traits_of(). What their kernels reach is a file of topologies/calibrations, `defaults-<generation>.yaml`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/attention_kernel.h"
#include "core/spec/names.h"

namespace spec {

/// From the least able of a maker's to the most able: in a mixed cluster the least able sets what all compute in.
enum class Generation { volta, turing, ampere, ada, hopper, blackwell, cdna3 };
template <>
inline constexpr auto kNamesOf<Generation> = spelt("volta", "turing", "ampere", "ada", "hopper", "blackwell", "cdna3");

struct GenerationTraits {
  bool amd = false;                                                 // RCCL and ROCm in place of NCCL and CUDA
  bool flash1 = true, flash2 = true, flash3 = false, cudnn = true;  // attention kernels that exist for it
  AttentionKernel best_attention = AttentionKernel::flash2;
  bool framework_chooses_attention = false;  // which of several good ones it has: `hopper_attention` of a profile
  bool multiplies_any_layout = false;        // of operands in fp8 of one scale; else each is cast a second time, turned
  bool row_and_block_scales = false;         // cuBLASLt multiplies operands with a scale for each row or block of 128
  bool software_of_2025 = false;             // nothing older runs on it
  bool one_hardware_queue = true;            // Megatron's overlaps need CUDA_DEVICE_MAX_CONNECTIONS=1
};

constexpr GenerationTraits traits_of(Generation generation) {
  GenerationTraits out;
  switch (generation) {
    case Generation::volta: out.flash1 = out.flash2 = out.cudnn = false; break;
    case Generation::turing: out.flash2 = out.cudnn = false; break;
    case Generation::ampere:
    case Generation::ada: break;
    case Generation::hopper:
      out.flash3 = true;
      out.framework_chooses_attention = true;
      out.row_and_block_scales = true;
      break;
    case Generation::blackwell:
      out.best_attention = AttentionKernel::cudnn;  // the others do not use its tensor cores
      out.multiplies_any_layout = out.software_of_2025 = true;
      out.one_hardware_queue = false;
      break;
    case Generation::cdna3:
      out.amd = true;
      out.cudnn = false;
      break;
  }
  return out;
}

}  // namespace spec
