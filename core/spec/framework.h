// core/spec/framework.h -- what a training framework adds to the arithmetic: its host's issue rate, the kernels it
// fuses, what it overlaps by default. A data file each (workloads/frameworks), dated, with its source.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/units.h"
#include "core/spec/names.h"
#include "core/spec/strategy.h"

namespace spec {

/// Ulysses with heads that its ranks do not divide: not run; dummy heads up to the next multiple; the first ranks take
/// one more than the others.
enum class UlyssesHeads { refused, padded, uneven };
template <>
inline constexpr auto kNamesOf<UlyssesHeads> = spelt("refused", "padded", "uneven");

/// Biases of experts: in the matmuls; that of the second one expert by expert, times the share that its token gives it,
/// in fp32; laid out for each row and added.
enum class ExpertBiases { fused, by_expert, by_row };
template <>
inline constexpr auto kNamesOf<ExpertBiases> = spelt("fused", "by_expert", "by_row");

struct Framework {
  std::string name;
  base::Seconds launch;               // host time to issue one kernel from eager code, its operator's dispatch included
  base::Seconds backward_launch;      // the same from the autograd engine's thread
  base::Seconds collective_launch;    // host time to issue one collective or transfer
  base::Seconds pipelined_tp_launch;  // overlap.tp chunked, stages over the fabric: times tp, more of it a collective
  base::Seconds step;                 // host time of a step that hides under nothing: data, logging, schedule
  double host_slowdown = 1;           // launch_slowdown of the hosts that these times were taken on
  base::Bytes gradient_bucket;        // data-parallel reduction in buckets of this size; 0: one for all
  base::Bytes parameter_bucket;       // ZeRO-1 all-gather in buckets of this size; 0: one for all
  int bucket_ranks = 0;  // with more data-parallel ranks than this, buckets grow as they do; 0: they never grow
  bool whole_later_chunks = false;        // only the first chunk of the first stage has buckets, the others one for all
  bool synchronizes_each_reduce = false;  // waits for the device after each gradient bucket
  bool reads_each_loss = false;           // the host reads every microbatch's loss when its backward has ended
  bool awaits_units = false;              // zero 3: or waits for its reductions then
  bool scatter_gather_pipeline =
      false;                    // without sp, a tensor-parallel rank sends 1/tp of the activations (SC'21, 4.1)
  bool fp16_gradients = false;  // under fp16, gradients are kept and reduced in fp16 where the job does not say
  double dropout = 0;           // of models of GPT-2's recipe where the job does not say; see fill_dropout
  bool sharded_gradients_in_16_bits = false;  // in bf16, under that and narrower, zero 1 to 3, no pipeline
  bool synchronizes_p2p = false;    // waits for each exchange between stages that nothing overlaps; see fill_overlap
  bool balances_stages = false;     // pipeline stages are cut by cost (balanced_layers) where the job does not say how
  int pipeline_zero = 3;            // the highest zero stage beside pipeline stages
  bool spreads_stages = false;      // or with the embedding and the head as a layer each (spread_layers)
  bool fp32_shards = false;         // zero 3: shards are the fp32 master weights, cast before they are gathered
  bool all_reduces_shards = false;  // zero 1 and 2: gradients are all-reduced, and each rank keeps its share
  bool gathers_qkv = false;         // ranks that share heads of keys and values gather all of them behind their product
  bool moments_as_weights = false;  // without master weights moments have the weights' dtype
  bool unit_copies = false;         // zero 3: a gathered buffer is copied out into the parameters
  bool scales_gradients = false;  // zero 0 and 1: a bucket is divided by the ranks in front of its reduction; resolve()
                                  // clears it where recipes of fp8 GPUs average in the collective
  bool bucket_copies = false;     // zero 0: gradients are copied into buckets, which stay, and back (PyTorch's DDP)
  int bucket_passes = 0;          // zero 1 to 3: times a bucket is read and written in front of its reduction, to divide
                                  // it and lay it out; under zero 1 once more, since gradients are in no bucket before
  bool bucketed_units = false;    // zero 3: gradients leave in buckets of gradient_bucket, not unit by unit
  bool zero3_overlaps = false;    // zero 3 reduces and gathers beside compute, whatever `overlap` says
  base::Seconds compiled_launch;  // as `launch`, from graph-compiled code
  base::Seconds plain_launch;     // as `launch` and `backward_launch`, of modules that nothing wraps; 0: as those
  base::Seconds
      module_launch;  // the forward of a linear layer or of fused attention, whose backward takes as long; 0: a launch
  base::Seconds module_fetch;   // zero 3 over several ranks: to fetch and let go what a linear layer holds, each pass
  base::Seconds expert_launch;  // for each expert of a grouped matmul or of its casts; 0: one kernel does them all
  bool grouped_mm = false;      // that kernel is torch._grouped_mm
  bool fused_optimizer = true;  // multi-tensor kernels; otherwise one chain of kernels a parameter tensor
  double optimizer_passes = 1;  // time of AdamW's update over that of one kernel that reads and writes all once
  base::Bytes context;          // held beside the framework's allocations: CUDA context, library handles and workspaces
  base::Bytes communicator;     // buffers of one NCCL communicator
  double fragmentation = 0;     // share of moving allocations that the caching allocator holds and cannot use
  bool keeps_casts = true;  // below 16 bits: casts of activations are kept for backward, of weights for the whole step
  bool autocasts = false;   // Training::autocast where the job is silent, see fill_autocast()
  bool fresh_gradients = false;  // gradients are freed between steps: a lone microbatch makes them as it goes back
  bool frees_sharded_gradients = false;  // zero 1 to 3: between steps, too, so that none are zeroed
  bool holds_frozen_inputs = false;  // zero 3: what recomputed layers of frozen weights read, and its gradient, stay
                                     // until the backward's end
  bool wide_adapters = false;  // beside a 16-bit base adapters with fp32 masters are in fp32 and run under autocast
  bool fp8_parameters =
      false;  // Training::fp8_parameters where the job is silent, under mxfp8 and fp8 of one scale a tensor
  bool sequence_parallel = false;                         // Strategy::sp where the job is silent
  bool experts_follow_tp = false;                         // etp left out, experts are cut by tp as the dense layers are
  int router_kernels = 1, router_gradient_kernels = 1;    // behind the router's matmul and before its gradients
  int router_launches = 0, router_gradient_launches = 0;  // with what counts its tokens; 0: one a kernel
  bool pads_experts =
      false;  // rows of experts are copied by index to where each expert's begin at a multiple, and back
  bool rescales_rows = false;   // fp8 rowwise: gradients' results are scaled by kernels of their own
  bool rows_by_index = false;   // rows of tokens are taken and summed up by index, which sorts the indices to add
  bool weighs_in_fp32 = false;  // results of experts are multiplied by their weights in fp32, and cast there and back
  bool counts_behind_rows = false;  // the host reads tokens by expert where they are exchanged alone, behind the rows'
                                    // copies and an exchange of the counts; else behind the router
  int exchange_launches = 0;   // what the host does in a pass around the plain exchange of tokens, in kernels' launches
  bool scales_scores = false;  // attention written out scales its scores in a kernel of its own
  bool written_gelu = false;   // models of GPT-2's recipe write GELU out in Python; resolve() clears it for others
  int vocab_multiple = 1;      // in training the vocabulary is padded to a multiple of this a tensor-parallel rank
  // Of eager PyTorch, by what its modules allocate.
  bool compiles = false;         // a graph compiler takes every step whole: Strategy::compile, which a job cannot deny
  bool compiles_head = true;     // a graph compiler takes the output head; torchtitan: blocks alone
  bool compiles_loss = true;     // a graph compiler takes the loss with the model; torchtitan of 2024: blocks alone
  bool compiles_experts = true;  // a graph compiler takes what sends tokens to experts; not torchtitan of 2025
  bool compiles_unsharded_loss = false;  // where compiles_loss is false: under zero 0 and 1 all the same
  bool separate_loss = false;            // an unfused loss has tensors of its own where Megatron works in place
  bool keeps_gathered = false;  // under sp, gathered inputs of linears are kept for backward, not gathered again
  bool keeps_blocking_gathers = false;  // likewise where nothing is computed beside the gather; see fill_model_code
  bool copies_sequence = false;  // under sp the sequence lies behind the batch: shards are laid out for each collective
  std::optional<bool> stops_recompute;  // full recomputation ends where nothing that follows is read by a backward; see
                                        // fill_checkpoints
  bool shards_by_dtensor = false;  // as PyTorch does since 2.1: see fill_checkpoints and, own_models, fill_model_code
  bool scales_fused_rope = true;   // its fused rotary embedding takes Model::rope_scale; false: eager kernels do
  bool complex_rope = false;       // rotary embedding of complex numbers, which no compiler fuses; see fill_kernels
  bool frees_added_gradients = false;  // a 16-bit weight gradient goes once it was added to the main one
  bool expands_kv = false;             // grouped K and V are copied to every query head before attention
  bool ring_gathers = false;           // context parallel by ring: K and V come at once, results are merged in fp32
  bool own_models = false;             // zero 2 and 3 train the user's model code; see fill_model_code
  bool compiles_loss_of_2025 = false;  // in software of 2025 the loss is compiled or fused: see fill_model_code
  bool separate_linears = false;       // q, k, v and the halves of a gated feed-forward are matmuls of their own
  bool separate_experts = false;       // so are those of an expert without biases
  bool turned_heads = false;           // and an eager rotary embedding finds their heads turned in memory
  bool strided_eager = false;          // by the operation, rotary embedding and gated halves are read number by number
  bool attention_copies = false;       // packed q, k and v are cut and turned for a fused kernel, gradients joined
  double norm_backward = 1;            // a fused norm's backward over a tuned kernel's time
  /// Widths of fused RMSNorms that have a tuned kernel; empty: all have. Those of other widths take so many times as
  /// long, and a while for the sums of their weight's gradient, whatever their size; on AMD's GPUs another.
  std::vector<int> tuned_norms;
  double general_norm = 1, general_norm_backward = 1;
  base::Seconds general_norm_sums, general_norm_sums_of_amd;
  int optimizer_workspace = 0;        // bytes a parameter that the optimizer's step takes for itself
  bool keeps_stage_outputs = false;   // what a stage sent on stays until its gradient has been used
  bool accumulates_whole = false;     // zero 2, 3: gradients stay whole until the last microbatch, with pp or without
  bool sums_replicas_last = false;    // HSDP, zero 2 and 3: across groups of shards in the last microbatch alone
  bool keeps_pipeline_units = false;  // with pp Fsdp's sync_each_microbatch (zero 2, 3) and reshard (3) are off
  bool stream_pools = false;          // gathers are allocated on a stream of their own, whose memory others cannot use
  bool records_streams = false;       // what a collective reads or writes is freed when the device has passed it
  bool flat_workspace = false;        // that is one tensor, of fp32 gradients that the optimizer of zero 1 to 3 reads
  bool fp64_norm = false;             // zero 1 to 3: the norm of a gradient is that of its copy in fp64
  bool keeps_logits = false;          // a fused loss writes nothing in forward; otherwise what its gradient begins with
  bool adds_embedding_rows = false;   // an embedding's gradient goes to the sums of its rows; otherwise it is dense
  bool moves_logits = false;  // an unfused loss is of logits without the last token's, in a tensor of their own;
                              // resolve() clears it where labels are moved instead
  bool shifted_logits = false;        // an unfused loss subtracts their maximum into a tensor of its own
  bool channels_first_tf32 = false;  // images in tf32 are turned around each convolution; 16-bit ones lie channels last
  UlyssesHeads ulysses_heads = UlyssesHeads::refused;
  ExpertBiases expert_biases = ExpertBiases::fused;
  bool pads_latent_values = true;  // FlashAttention 1, 2 under latent attention: values as wide as keys; else no kernel
  AttentionKernel hopper_attention = AttentionKernel::flash2;  // where the Job names none; see best_attention
  bool recomputes_by_operators = false;                        // the search tries Recompute::Kind::selective_ops
  bool recomputes_by_modules = false;                          // the search tries those of Recompute::Kind::selective
  // What it can offload, and what starts it: a profile based on another one does as that one does.
  bool offloads_parameters = true;
  bool offloads_to_drives = true;
  bool updates_where_kept = false;  // zero 3: shards are updated in the memory that keeps them, so both leave or none
  std::string launcher;             // of core/config/launch/framework.h, by name; empty: no program starts it
  double cpu_optimizer = 1;         // an optimizer on the host moves its bytes at this share of the host's bandwidth
  base::Bytes optimizer_tile;       // fp32 weights of a tile that it updates while others travel; 0: all at once
  FusedKernels fused;
  Overlap overlap;
  bool placeholders_of_fp8_gpus = false;  // fused accumulation leaves a 16-bit gradient a shape of a linear
  // GPUs with fp8 run recipes of today, whose loss is fused whatever `fused` says and whose gradients below 16 bits are
  // in bf16 (resolve.cpp); others run code of before 2024: see fill_older_code in resolve_kernels.cpp.
  bool recipes_of_fp8_gpus = false;
  bool graphs_on_slow_hosts = false;        // recipes for nodes with a launch_slowdown capture layers: see fill_graphs
  base::Seconds module_launch_of_fp8_gpus;  // module_launch instead, on GPUs with fp8
  std::optional<MoeDispatcher>
      dispatcher_across_nodes;              // where the Job says none, on GPUs with fp8; see fill_dispatcher
  std::optional<TpOverlap> tp_of_fp8_gpus;  // overlap.tp instead, where offers_userbuffers() and reductions overlap
  bool gathers_beside_reductions = false;   // zero 1 and 2: overlap.param_gather has no effect without grad_reduce
  bool multiplies_rows = false;             // moe_capacity_factor: tokens go to and from experts by products with masks
  bool drops_without_padding = false;       // moe_capacity_factor: experts compute what they keep, not all their room
  // zero 1 and 2 without overlap.param_gather, experts over several ranks: the optimizers of experts and of all else
  // each gather everything.
  bool each_optimizer_gathers = false;
  std::string source;  // of the figures above
};

}  // namespace spec
