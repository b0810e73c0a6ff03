// real/executor/supported.cpp -- what real mode does not compute yet, refused by name before anything runs.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "core/plan/block.h"
#include "core/plan/ring_steps.h"
#include "core/spec/context_rules.h"
#include "real/executor/executor.h"

namespace real {
namespace {

struct Refusal {
  bool applies;
  const char* field;
  const char* what;
  const char* mend;
};

/// Whether a window leaves nothing of some step of the ring, for the rank and, of packed documents, for the mean length
/// that the Plan has. Other ranks under zigzag, and documents of other lengths, may have pairs there all the same.
bool skips_steps(const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  const auto steps =
      plan::ring_steps_in_documents(s.cp, job.training.sequence, s.cp_balance == spec::CpBalance::zigzag,
                                    {job.model.causal, job.model.window}, spec::document_length(job.training));
  const auto empty = [](const plan::RingStep& step) { return step.pairs == 0; };
  return static_cast<int>(steps.size()) < s.cp || std::any_of(steps.begin(), steps.end(), empty);
}

// What the Plan would let pass although real mode computes something else, by the part of the Job that says it.

std::vector<Refusal> training_refusals(const spec::Job& job) {
  const spec::Training& t = job.training;
  return {
      {job.model.is_list(), "model.kind", "a list of layers", "choose a transformer"},
      {t.serves(), "training.mode", "prefill and decode", "write mode: train"},
      {job.model.recurrent || !job.model.pattern.empty(), "model",
       "a model with recurrent layers or layers of one part",
       "choose a model whose layers are attention and feed-forward"},
      {job.model.indexer.has_value(), "model.indexer", "attention to keys that an indexer chose",
       "choose a model without one"},
      {job.model.attention_gate, "model.attention_gate", "a gate on attention's output", "write attention_gate: false"},
      {job.model.moe && job.model.moe->shared_gate, "model.moe.shared_gate", "a gate on shared experts",
       "write shared_gate: false"},
      {job.model.moe && job.model.moe->latent > 0, "model.moe.latent", "experts behind a projection",
       "write latent: 0"},
      {job.model.tied_embeddings && job.model.head_bias, "model.head_bias", "a bias beside a tied embedding",
       "write head_bias: false"},
      {plan::Context(job).gathers_qkv, "strategy.tp",
       "more ranks than heads of keys and values, which are then gathered", "write a tp of no more than these heads"},
      {t.autocast.value_or(false), "training.autocast", "torch.autocast's casts in each pass", "write autocast: false"},
      {t.optimizer == spec::Optimizer::muon, "training.optimizer", "Muon", "write optimizer: adamw"},
      {t.moments() == spec::Dtype::fp16, "training.moments_dtype", "moments in fp16", "write moments_dtype: bf16"},
  };
}

std::vector<Refusal> narrow_refusals(const spec::Job& job) {
  const spec::Model& m = job.model;
  const spec::Strategy& s = job.strategy;
  const spec::Training& t = job.training;
  if (spec::bytes_of(t.precision) >= 2) return {};
  using spec::Fp8Recipe;
  const bool fp8 = t.precision == spec::Dtype::fp8;
  const bool one_scale = fp8 && (t.fp8_recipe == Fp8Recipe::tensorwise || t.fp8_recipe == Fp8Recipe::delayed);
  const bool rows = fp8 && t.fp8_recipe == Fp8Recipe::rowwise, blocks = !one_scale && !rows;
  const bool alone = t.fp8_parameters.value_or(false);
  const bool shards = s.tp > 1 && s.sp, chunked = s.overlap.tp == spec::TpOverlap::chunked;
  const bool by_blocks = s.tp > 1 && s.overlap.tp == spec::TpOverlap::userbuffers;
  const std::int64_t shard = t.micro_batch * t.sequence / (std::int64_t{s.cp} * s.tp);
  return {
      {t.precision == spec::Dtype::nvfp4, "training.precision", "matmuls in nvfp4", "write precision: mxfp8"},
      {s.fused_kernels.experts.value_or(false), "strategy.fused_kernels.experts",
       "experts whose activation is part of their matmuls", "write experts: false"},
      {t.fp8_attention, "training.fp8_attention", "attention in fp8", "write fp8_attention: false"},
      {!one_scale && job.framework.separate_linears, "training.precision",
       "parts of a layer that are multiplied one by one with a scale for each row or block",
       "write precision: fp8 and fp8_recipe: tensorwise"},
      {alone && fp8 && s.zero == 3, "training.fp8_parameters", "weights in fp8 alone that are gathered for each use",
       "write fp8_parameters: false"},
      {alone && fp8 && blocks, "training.fp8_parameters", "weights in fp8 alone with a scale for each block",
       "write fp8_parameters: false"},
      {alone && (s.offload.updates_on_host() || s.lora || !s.traits().flushes), "training.fp8_parameters",
       "weights in fp8 alone beside an optimizer on the host, adapters or a pipeline without a flush",
       "write fp8_parameters: false"},
      {shards && rows, "strategy.sp", "shards of the sequence whose columns have a scale of all ranks",
       "write sp: false"},
      {(shards || by_blocks) && blocks && shard % 128 != 0, "strategy.sp",
       "shards of the sequence that end inside of a block of 128 tokens", "choose a sequence that 128 tp divides"},
      {shards && blocks && (job.framework.keeps_gathered || chunked), "strategy.overlap.tp",
       "gathered blocks that are kept or multiplied shard by shard", "write tp: none or wgrad"},
      {shards && s.lora, "strategy.sp", "shards of the sequence that fp8 and an adapter gather both",
       "write sp: false"},
      {shards && (m.bias || m.has_proj_bias()), "strategy.sp", "biases whose gradients are gathered in fp8",
       "write sp: false"},
      {shards && m.parallel_block && m.norms_in_parallel == 1, "strategy.sp",
       "an input that both branches of a block gather in fp8", "write sp: false"},
      {by_blocks && (rows || (blocks && fp8)), "strategy.overlap.tp",
       "blocks of tokens with scales of rows or of lines of 128 numbers", "write tp: none or wgrad"},
      {by_blocks && shards && one_scale && job.framework.keeps_gathered, "strategy.overlap.tp",
       "codes that are kept as a ring gathers them", "write tp: none or wgrad"},
      {s.recompute.kind == spec::Recompute::Kind::selective_ops, "strategy.recompute",
       "recomputation by operators below 16 bits", "write recompute: selective, full or none"},
  };
}

std::vector<Refusal> model_refusals(const spec::Job& job) {
  const spec::Model& m = job.model;
  return {
      {m.qk_norm && m.qk_scale != spec::QkScale::head, "model.qk_norm",
       "a norm of queries and keys that scales by other than the numbers of a head", "write qk_norm: true"},
      {m.has_position_table() && m.max_positions < job.training.sequence, "model.max_positions",
       "a sequence that is longer than the table of positions", "write a shorter training.sequence, or more rows"},
  };
}

std::vector<Refusal> strategy_refusals(const spec::Job& job) {
  const spec::Model& m = job.model;
  const spec::Strategy& s = job.strategy;
  const bool windowed_ring = s.rings() && m.window > 0;
  const auto line = static_cast<std::int64_t>(16 / spec::bytes_of(spec::storage(job.training.precision)));
  return {
      {s.compile && job.framework.compiles_head && (m.vocab + s.tp - 1) / s.tp % line != 0, "strategy.compile",
       "an output head that a compiler pads", "write compile: false, or choose a vocabulary that 8 tp divides"},
      {s.linear_cross_entropy, "strategy.linear_cross_entropy", "a loss in chunks of tokens",
       "write linear_cross_entropy: false"},
      {windowed_ring && s.cp_balance == spec::CpBalance::none && job.framework.ring_gathers, "strategy.cp_kind",
       "a ring that a window ends although its gradients go round", "write cp_kind: all_gather"},
      {m.window > 0 && !m.causal, "model.window", "a window of attention that looks ahead", "write causal: true"},
      {windowed_ring && s.cp_balance == spec::CpBalance::zigzag && skips_steps(job), "strategy.cp_kind",
       "a zigzag ring of which a window leaves out steps on some ranks alone", "write cp_kind: all_gather"},
      {windowed_ring && s.cp_balance == spec::CpBalance::none && !job.framework.ring_gathers && job.training.packing &&
           skips_steps(job),
       "training.packing", "a ring that a window ends sooner in some documents than in others",
       "write cp_kind: all_gather"},
      {!s.traits().flushes && s.tp > 1 && job.framework.scatter_gather_pipeline && !s.sp, "strategy.schedule",
       "a pipeline without a flush whose activations travel in shares", "write schedule: 1f1b"},
      {s.trades_heads() && !spec::ulysses_share(job).divides, "strategy.cp",
       "heads that context-parallel ranks share unevenly", "choose a cp that divides the heads of a rank"},
      {s.spreads_vocab() && s.vocab_barriers == 1 && s.tp > 1, "strategy.vocab_barriers",
       "one barrier over stages whose tensor-parallel ranks have parts of a state's gradient each",
       "write vocab_barriers: 2"},
  };
}

std::vector<Refusal> adapter_refusals(const spec::Job& job) {
  const spec::Model& m = job.model;
  const spec::Strategy& s = job.strategy;
  if (!s.lora) return {};
  return {
      {s.lora->base != spec::LoraBase::bf16, "strategy.lora", "a base in fewer than 16 bits", "write base: bf16"},
      {s.lora->dropout > 0, "strategy.lora", "dropout of what adapters read", "leave dropout out"},
      {s.lora->ffn && m.moe && (s.lora->rank % s.etp != 0 || m.hidden % s.etp != 0), "strategy.lora",
       "low-rank adapters whose rank or outputs expert tensor-parallel ranks share unevenly",
       "choose an etp that divides rank and hidden"},
      {s.lora->rank % s.tp != 0 || m.hidden % s.tp != 0, "strategy.lora",
       "low-rank adapters whose rank or outputs tensor-parallel ranks share unevenly", "choose a rank that tp divides"},
      {s.tp > 1 && m.parallel_block, "strategy.lora",
       "low-rank adapters in a parallel block over tensor-parallel ranks", "write tp: 1"},
      {s.recompute.kind == spec::Recompute::Kind::selective_ops, "strategy.lora",
       "low-rank adapters under recomputation by operators", "write recompute: selective, full or none"},
  };
}

std::vector<Refusal> offload_refusals(const spec::Job& job) {
  const spec::Model& m = job.model;
  const spec::Strategy& s = job.strategy;
  return {
      {s.zero == 3 && job.framework.fp32_shards && s.offload.fetches_parameters() != s.offload.updates_on_host(),
       "strategy.offload", "masters that are kept in one memory and updated in another",
       "write offload: {optimizer: cpu, parameters: cpu}"},
      {s.offload.uses_nvme() && job.framework.fp32_shards, "strategy.offload", "masters that are shards on drives",
       "write framework: deepspeed"},
      {s.offload.states_on_drives() && !(job.framework.optimizer_tile.si() > 0), "strategy.offload.optimizer",
       "states on drives that are updated all at once", "write framework: deepspeed"},
      {s.offload.updates_on_host() && s.zero >= 2 &&
           ((s.tp > 1 && (s.sp || m.qk_norm || s.tp > m.kv_heads)) || ((m.tied_embeddings || m.mtp > 0) && s.pp > 1)),
       "strategy.offload.optimizer",
       "a gradient that ranks beside those of data parallelism share, summed where zero 2 and 3 have sent it to the "
       "host",
       "write zero: 1"},
  };
}

}  // namespace

std::vector<base::Fault> unsupported(const spec::Job& job, const plan::Plan& plan) {
  std::vector<base::Fault> faults;
  for (const auto refusals :
       {training_refusals, narrow_refusals, model_refusals, strategy_refusals, adapter_refusals, offload_refusals}) {
    for (const Refusal& refusal : refusals(job)) {
      if (!refusal.applies) continue;
      faults.push_back({refusal.field, std::string(refusal.what) + " is not computed by real mode yet", refusal.mend});
    }
  }
  if (!faults.empty()) return faults;
  const Actions actions = all_actions();
  for (const std::string& name : plan.names) {
    if (actions.contains(name)) continue;
    faults.push_back(
        {"strategy", "the operator '" + name + "' is not computed by real mode yet", "choose a strategy without it"});
  }
  return faults;
}

}  // namespace real
