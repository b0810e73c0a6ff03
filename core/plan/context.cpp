// SPDX-License-Identifier: Apache-2.0
#include "core/plan/context.h"

#include <algorithm>

#include "core/plan/group_shape.h"

namespace plan {
namespace {

std::int64_t bytes_per(spec::Dtype d) { return static_cast<std::int64_t>(spec::bytes_of(d)); }

}  // namespace

Context::Context(const spec::Job& j) : job(j), model(j.model), strategy(j.strategy), placement(j.strategy) {
  set_degrees_and_batch();
  set_widths();
  set_precision();
  set_kernels();
  set_overlap();
  set_groups();
  set_sharding();
}

void Context::set_degrees_and_batch() {
  tp = strategy.tp;
  dp = strategy.data();
  pp = strategy.pp;
  vpp = strategy.chunks_a_stage();
  barrier = strategy.optimizer_barrier.value_or(true);
  rolling = pp > 1 && !barrier;
  cp = strategy.cp;
  zigzag = cp > 1 && strategy.cp_balance == spec::CpBalance::zigzag && model.causal;
  sp = strategy.sp && tp > 1;
  microbatches = spec::microbatches(job);
  batch = job.training.micro_batch;
  serves = job.training.serves();
  decodes = job.training.mode == spec::Mode::decode;
  sequence = decodes || model.is_list() ? 1 : job.training.sequence;
  context = decodes ? job.training.attended() : sequence;
  tokens = decodes ? batch : batch * sequence / cp;
  shard_tokens = sp ? tokens / tp : tokens;
  document = spec::document_length(job.training);
  chunk = spec::chunk_length(job.training, model.attention_chunk);
}

void Context::set_widths() {
  hidden = model.hidden;
  heads = model.heads / tp;
  kv_heads = model.mla ? heads : std::max(1, model.kv_heads / tp);  // latent keys and values are of every head
  const bool expands = job.framework.expands_kv && !serves && !strategy.trades_heads();
  attention_kv_heads = expands ? heads : kv_heads;
  head_dim = model.query_head_dim();
  value_head_dim = model.value_head_dim();
  q_width = std::int64_t{heads} * head_dim;
  kv_width = std::int64_t{kv_heads} * head_dim;
  gate_width = model.attention_gate ? q_width : 0;
  qkv_width = q_width + gate_width + 2 * kv_width;
  context_width = std::int64_t{heads} * value_head_dim;
  ffn = model.ffn / tp;
  up_width = model.up_width() / tp;
  spread_vocab = strategy.spreads_vocab();
  const int shares = tp * (spread_vocab ? pp : 1);
  vocab = (model.vocab + shares - 1) / shares;
}

void Context::set_precision() {
  dtype = job.training.precision;
  storage = spec::storage(dtype);
  operand = spec::bytes_of(dtype) >= 2 ? dtype : storage;
  element = bytes_per(storage);
  autocast = job.training.autocast.value_or(false);
  stream = autocast ? 4 : element;
  gradient_element = bytes_per(job.training.gradients());
  kv_element = job.training.kv_cache_dtype ? bytes_per(*job.training.kv_cache_dtype) : element;
}

void Context::set_kernels() {
  dropout = job.training.drops() && !serves;
  const spec::FusedKernels& fused = strategy.fused_kernels;
  fused_norm = fused.norm.value_or(true);
  fused_rope = fused.rope.value_or(true);
  fused_activation = fused.activation.value_or(true);
  fused_softmax = fused.softmax.value_or(true);
  fused_loss = fused.cross_entropy.value_or(true);
  chunked_loss = strategy.linear_cross_entropy && !serves;
  fused_accumulation = fused.grad_accumulation.value_or(true);
  fused_permute = fused.permute.value_or(true);
  fused_experts = fused.experts.value_or(false);
  attention = strategy.attention_kernel.value_or(spec::AttentionKernel::flash2);
}

void Context::set_overlap() {
  tp_overlap = strategy.overlap.tp.value_or(spec::TpOverlap::none);
  if (decodes) tp_overlap = spec::TpOverlap::none;  // a token has no pieces
  overlap_grad_reduce = strategy.overlap.grad_reduce.value_or(false);
  overlap_param_gather = strategy.overlap.param_gather.value_or(false);
  // Serving engines post their receives ahead: tokens come round while activations are still sent forward.
  overlap_p2p = serves || strategy.overlap.p2p.value_or(false);
  overlap_shared_expert = strategy.overlap.shared_expert;
}

void Context::set_groups() {
  const spec::Cluster& cluster = job.cluster;
  axes = axes_of(strategy);
  const int copies = model.mla || model.kv_heads == 0 ? 1 : std::max(1, tp / model.kv_heads);
  axes.shapes[static_cast<int>(Axis::kv_copies)] = {axes[Axis::tp].stride, copies};
  gathers_qkv = job.framework.gathers_qkv && copies > 1 && !serves;
  qkv_product = gathers_qkv ? (model.gated_q_width() + 2 * model.kv_width() + tp - 1) / tp : qkv_width;
  const int ranks = axes.ranks * pp;
  for (int a = 0; a < kAxes; ++a) {
    axis_groups[a] = group_shape(axes.rank_stride(static_cast<Axis>(a)), axes.shapes[a].size, cluster, ranks);
  }
  tp_group = group(Axis::tp);
  dp_group = group(Axis::dp);
  embedding_group = ends_shape(axes.hop(), pp, cluster, ranks);
  stages_group = group_shape(axes.hop(), pp, cluster, ranks);
  // The replicas of a parameter need not be asked twice; under ZeRO-1 every rank owns other gradients.
  model_group = group_shape(1, strategy.zero >= 1 || strategy.ep * strategy.etp > tp ? ranks : tp * pp, cluster, ranks);
  scatter_gather = job.framework.scatter_gather_pipeline && tp > 1 && !sp;
  if (pp > 1) stage_transfer = stage_hop(axes.hop(), pp, cluster, ranks);
  stage_transfer.bytes = tokens * hidden * element / (sp || scatter_gather ? tp : 1);
}

void Context::set_sharding() {
  shard_axis = strategy.shard > 0 ? Axis::shard : Axis::dp;
  expert_shard_axis = strategy.shard > 0 ? Axis::expert_shard : Axis::expert_dp;
  fully_sharded = strategy.zero == 3 && (replicated() || strategy.offload.fetches_parameters());
  scatters_gradients = fully_sharded || (strategy.zero >= 2 && (replicated() || strategy.offload.updates_on_host()));
  sums_replicas_last = job.framework.sums_replicas_last && scatters_gradients && strategy.shard > 1 &&
                       microbatches > 1 && !strategy.offload.updates_on_host();
  // Under zero 2 and 3 a unit's gradients are copied into their reduction instead.
  separate_gradients = !scatters_gradients && !fused_accumulation && gradient_element != element;
}

Transfer Context::transfer_between(int from, int to) const {
  return stage_hop_between(from, to, stage_transfer, axes.hop(), pp, job.cluster, job.cluster.gpus());
}

}  // namespace plan
