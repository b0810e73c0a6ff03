// core/spec/strategy.h -- how a step is cut over ranks. Options that depend on framework or GPU are optional here
// and filled in by resolve() (spec/job.h), so that what the user wrote and what was assumed stay apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/spec/attention_kernel.h"
#include "core/spec/names.h"
#include "core/spec/offload.h"
#include "core/spec/schedule.h"

namespace spec {

/// Who holds the rows of the embedding and of the output head: the tensor-parallel ranks of the first and the last
/// stage, or those of every stage (core/plan/vocabulary.h).
enum class VocabParallel { tensor, pipeline };
template <>
inline constexpr auto kNamesOf<VocabParallel> = spelt("tensor", "pipeline");

enum class TpOverlap { none, wgrad, chunked, userbuffers };
template <>
inline constexpr auto kNamesOf<TpOverlap> = spelt("none", "wgrad", "chunked", "userbuffers");

enum class CpKind { ring, all_gather, ulysses };
template <>
inline constexpr auto kNamesOf<CpKind> = spelt("ring", "all_gather", "ulysses");

/// zigzag: of 2 cp chunks each rank has one from the front and one from the back, so that a causal mask leaves all of
/// them the same; none: contiguous parts, and the last rank rules.
enum class CpBalance { zigzag, none };
template <>
inline constexpr auto kNamesOf<CpBalance> = spelt("zigzag", "none");

/// How tokens reach their experts (core/plan/moe.h).
enum class MoeDispatcher { alltoall, allgather, deepep };
template <>
inline constexpr auto kNamesOf<MoeDispatcher> = spelt("alltoall", "allgather", "deepep");

/// Parts of a layer that are computed again under `selective`, by Megatron Core's names (--recompute-modules).
struct RecomputeModules {
  bool core_attn = true;        // scores and softmax
  bool layernorm = false;       // results of a block's norms, inputs of the linears behind them
  bool mla_up_proj = false;     // queries, keys and values from the latent vectors, their norms and rotation included
  bool moe_act = false;         // result of the routed experts' activation
  bool mlp = false;             // a dense feed-forward
  bool moe = false;             // a layer of experts, its exchanges included
  bool shared_experts = false;  // the shared experts of one
  bool operator==(const RecomputeModules&) const = default;
};
/// none: keep all; selective: the attention core again (Korthikanti et al., arXiv 2205.05198); selective_ops: every
/// second matmul (torchtitan); full: the block again from its input, in the first `layers` layers of each stage.
struct Recompute {
  enum class Kind { none, selective, full, selective_ops } kind = Kind::none;
  int layers = 0;  // full only; 0: all
  RecomputeModules modules = {};
};
template <>
inline constexpr auto kNamesOf<Recompute::Kind> = spelt("none", "selective", "full", "selective_ops");

/// What of a step is captured in CUDA graphs: nothing, all of it, or all but the experts' kernels and exchanges, whose
/// sizes the host learns in each step (Megatron's --cuda-graph-scope attn moe_router moe_preprocess).
enum class CudaGraphs { none, whole, beside_experts };
template <>
inline constexpr auto kNamesOf<CudaGraphs> = spelt("false", "true", "beside_experts");

enum class LoraBase { bf16, int8, nf4 };
template <>
inline constexpr auto kNamesOf<LoraBase> = spelt("bf16", "int8", "nf4");
/// Low-rank adapters beside frozen weights; ffn: both matmuls of the feed-forward.
struct Lora {
  int rank = 0;
  bool qkv = false, proj = false, ffn = false;
  LoraBase base = LoraBase::bf16;
  double dropout = 0;  // of what A reads
};
/// What adapters may stand beside, as a Job names it.
inline constexpr std::pair<std::string_view, bool Lora::*> kLoraTargets[] = {
    {"qkv", &Lora::qkv}, {"proj", &Lora::proj}, {"ffn", &Lora::ffn}};

struct FusedKernels {
  std::optional<bool> norm, rope, activation, softmax, cross_entropy, grad_accumulation, permute, experts;
  std::optional<bool> optimizer = {};
};
inline constexpr std::pair<std::string_view, std::optional<bool> FusedKernels::*> kFusedKernels[] = {
    {"norm", &FusedKernels::norm},
    {"rope", &FusedKernels::rope},
    {"activation", &FusedKernels::activation},
    {"softmax", &FusedKernels::softmax},
    {"cross_entropy", &FusedKernels::cross_entropy},
    {"grad_accumulation", &FusedKernels::grad_accumulation},
    {"permute", &FusedKernels::permute},       // tokens to experts, and their results back
    {"experts", &FusedKernels::experts},       // activation and casts of experts inside their grouped matmuls
    {"optimizer", &FusedKernels::optimizer}};  // AdamW's update in one pass, not a chain of kernels over all tensors
/// What "fused_kernels: true" and "false" leave to the framework: few jobs can have the one, few mean the other.
inline constexpr bool is_named_alone(std::optional<bool> FusedKernels::*kernel, bool value) {
  return kernel == &FusedKernels::optimizer || (value && kernel == &FusedKernels::experts);
}

struct Overlap {
  std::optional<bool> grad_reduce, param_gather, p2p, expert;
  bool shared_expert = false;  // shared experts compute while tokens are on their way
  std::optional<TpOverlap> tp;
};

/// Zero 3: how parameters are gathered and gradients scattered, unit by unit (PyTorch's fully_shard).
struct Fsdp {
  int unit = 1;                      // blocks gathered together; 0: all of a chunk
  int prefetch = 1;                  // units gathered ahead of the one that computes
  int limit_all_gathers = 0;         // most units gathered at once, the computing one included; 0: prefetch + 1
  bool reshard = true;               // a unit's parameters are let go behind its forward and gathered again
  bool sync_each_microbatch = true;  // otherwise whole gradients are kept until the last microbatch
  int ahead() const {
    return limit_all_gathers > 0 && limit_all_gathers <= prefetch ? limit_all_gathers - 1 : prefetch;
  }
};

struct Strategy {
  int tp = 1;
  bool sp = false;        // Megatron sequence parallel; without effect at tp 1
  bool sp_given = false;  // otherwise resolve() may choose
  int cp = 1;
  CpKind cp_kind = CpKind::ring;
  CpBalance cp_balance = CpBalance::zigzag;
  int pp = 1;
  Schedule schedule = Schedule::one_f_one_b;
  int vpp = 1;            // model chunks a stage
  std::optional<int> dp;  // ranks / (tp cp pp) when left out; resolve() fills it in
  int zero = 0;
  int shard = 0;  // shard groups of this many data-parallel ranks; 0: all
  int ep = 1, etp = 1;
  bool etp_given = false;  // otherwise resolve() may choose
  std::optional<double> moe_capacity_factor;
  std::optional<bool> moe_pad_to_capacity;  // room that no token takes is computed all the same; resolve() fills it
  double moe_imbalance = 1;                 // tokens of the hottest expert-parallel rank over the mean
  bool moe_imbalance_given = false;
  std::vector<double> moe_routing;  // tokens of each expert; resolve() makes moe_imbalance of them
  bool moe_round_robin = false;     // experts are dealt out in turn, whatever the router says
  MoeDispatcher moe_dispatcher = MoeDispatcher::alltoall;
  bool moe_dispatcher_given = false;  // otherwise resolve() may choose
  Recompute recompute;
  std::optional<AttentionKernel> attention_kernel;
  FusedKernels fused_kernels;
  bool linear_cross_entropy = false;  // head, loss and their gradients in chunks of tokens: no whole logits
  bool compile = false;
  bool compile_given = false;             // otherwise resolve() may choose
  std::optional<CudaGraphs> cuda_graphs;  // resolve() fills it
  bool launch_blocking = false;           // CUDA_LAUNCH_BLOCKING=1: a launch returns when its kernel has ended
  Overlap overlap;
  std::string framework = "megatron";
  std::vector<int> stage_layers;  // layers of each stage, or of each of pp x vpp chunks in model order
  bool embedding_in_split = false;
  VocabParallel vocab_parallel = VocabParallel::tensor;
  int vocab_barriers = 2;                 // pipeline: how often all stages wait for one another in a microbatch's loss
  std::optional<bool> optimizer_barrier;  // all stages end a step together, by the norm of all gradients
  std::string rank_order = "tp-cp-dp-pp";
  bool fsdp_given = false;
  Fsdp fsdp;
  bool reshard_given = false, sync_given = false;  // of fsdp's keys; otherwise resolve() may choose
  bool offload_given = false;
  Offload offload;
  std::optional<Lora> lora;

  int data() const { return dp.value_or(1); }
  /// Context-parallel ranks pass keys and values on, or trade their tokens for heads.
  bool rings() const { return cp > 1 && cp_kind == CpKind::ring; }
  bool trades_heads() const { return cp > 1 && cp_kind == CpKind::ulysses; }
  ScheduleTraits traits() const { return traits_of(schedule); }
  /// Whether a forward and a backward that follow one another are merged, so that tokens travel to the experts of one
  /// while the other computes (Megatron-Core's overlap_moe_expert_parallel_comm). dualpipe always does.
  bool pairs_passes() const { return ep > 1 && overlap.expert.value_or(false) && traits().one_f_one_b; }
  /// What the hottest rank's experts compute over their even share.
  double load_of_experts() const {
    const double room = moe_capacity_factor.value_or(moe_imbalance);
    return pads_experts() ? room : std::min(room, moe_imbalance);
  }
  /// Experts compute all the room that they have, whether taken or not, so that their load is known beforehand.
  bool pads_experts() const { return moe_capacity_factor && moe_pad_to_capacity.value_or(true); }
  /// Embedding and output head are cut over the pipeline's stages.
  bool spreads_vocab() const { return vocab_parallel == VocabParallel::pipeline && pp > 1; }
  int chunks_a_stage() const { return traits().two_chunks() ? 2 : vpp; }
  /// Of one copy of the model.
  std::int64_t model_chunks() const { return traits().two_copies() ? pp : std::int64_t{pp} * chunks_a_stage(); }
};

}  // namespace spec
