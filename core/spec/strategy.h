// core/spec/strategy.h -- how a step is cut over ranks. Options that depend on framework or GPU are optional here
// and filled in by resolve() (spec/job.h), so that what the user wrote and what was assumed stay apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spec {

enum class Schedule { gpipe, one_f_one_b, interleaved, zb_h1, zb_h2, zb_v, dualpipe, pipedream };
enum class AttentionKernel { unfused, fused_softmax, flash1, flash2, flash3, cudnn };
inline constexpr int kAttentionKernels = 6;
inline constexpr std::array<std::string_view, kAttentionKernels> kAttentionKernelNames{
    "unfused", "fused_softmax", "flash1", "flash2", "flash3", "cudnn"};
constexpr std::string_view name(AttentionKernel k) { return kAttentionKernelNames[static_cast<int>(k)]; }

enum class TpOverlap { none, wgrad, chunked, userbuffers };
enum class CpKind { ring, all_gather, ulysses };

/// none: keep all; selective: the attention core again (Korthikanti et al., arXiv 2205.05198); selective_ops: every
/// second matmul (torchtitan); full: the block again from its input, in the first `layers` layers of each stage.
struct Recompute {
  enum class Kind { none, selective, full, selective_ops } kind = Kind::none;
  int layers = 0;  // full only; 0: all
};

/// Low-rank adapters beside frozen weights; ffn: both matmuls of the feed-forward.
enum class LoraBase { bf16, int8, nf4 };
struct Lora {
  int rank = 0;
  bool qkv = false, proj = false, ffn = false;
  LoraBase base = LoraBase::bf16;
};

struct FusedKernels {
  std::optional<bool> norm, rope, activation, softmax, cross_entropy, grad_accumulation;
};

struct Overlap {
  std::optional<bool> grad_reduce, param_gather, p2p, expert;
  std::optional<TpOverlap> tp;
};

struct Strategy {
  int tp = 1;
  bool sp = false;  // Megatron sequence parallel; without effect at tp 1
  int cp = 1;
  CpKind cp_kind = CpKind::ring;
  int pp = 1;
  Schedule schedule = Schedule::one_f_one_b;
  int vpp = 1;            // model chunks a stage
  std::optional<int> dp;  // ranks / (tp cp pp) when left out; resolve() fills it in
  int zero = 0;
  int shard = 0;  // shard groups of this many data-parallel ranks; 0: all
  int ep = 1, etp = 1;
  std::optional<double> moe_capacity_factor;
  double moe_imbalance = 1;
  Recompute recompute;
  std::optional<AttentionKernel> attention_kernel;
  FusedKernels fused_kernels;
  bool compile = false;
  bool cuda_graphs = false;
  Overlap overlap;
  std::string framework = "megatron";
  std::vector<int> stage_layers;  // layers of each stage, or of each of pp x vpp chunks in model order
  bool embedding_in_split = false;
  std::string rank_order = "tp-cp-dp-pp";
  bool fsdp_given = false, offload_given = false;  // refused by name until they are supported

  std::optional<Lora> lora;

  int data() const { return dp.value_or(1); }
};

}  // namespace spec
