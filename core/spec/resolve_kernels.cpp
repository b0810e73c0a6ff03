// core/spec/resolve_kernels.cpp -- kernels and model code where the Job says nothing (declared in fillers.h).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>

#include "core/spec/fillers.h"
#include "core/spec/generation.h"
#include "core/spec/model_code.h"
#include "core/spec/software_age.h"

namespace spec {
namespace {

/// Whether it is the user's model code that is sharded, not the framework's.
bool trains_own_code(const Job& job) {
  return job.framework.own_models && job.strategy.zero >= 2 && job.model.gated_mlp && !job.training.serves();
}

/// Layer norm, GELU, learned positions or ALiBi.
bool is_of_gpt2s_recipe(const Model& m) {
  return !m.is_list() && m.norm == Norm::layernorm && m.activation == Activation::gelu && !m.gated_mlp &&
         (m.position == Position::learned || m.position == Position::alibi);
}

/// Code without kernels of their own for rotary embedding and gated activations, `norms`: and RMSNorm.
void fill_by_the_operation(Job& job, const std::string& from, bool norms) {
  FusedKernels& fused = job.strategy.fused_kernels;
  Filler filler(job, from);
  if (norms && job.model.norm == Norm::rmsnorm) filler.fill(fused.norm, false, "fused_kernels.norm");
  filler.fill(fused.rope, false, "fused_kernels.rope", job.model.ropes() && !job.model.is_list());
  if (job.model.gated_mlp) filler.fill(fused.activation, false, "fused_kernels.activation");
}

/// Where a framework's newer recipes are those of GPUs with fp8, training on the others is older code: Megatron's
/// before Core 0.5.0 (early 2024), which had no kernels of their own for RMSNorm, rotary embedding and gated
/// activations and subtracted the maximum of the logits into a tensor of its own.
void fill_older_code(Job& job) {
  if (job.training.serves() || software_year(job) >= 2024) return;
  const std::string older = job.framework.name + " before 2024, GPUs without fp8";
  fill_by_the_operation(job, older, true);
  job.framework.shifted_logits = true;
}

/// Code of models before LLaMA's is older than PyTorch 2.1, whose checkpoints stop where nothing more is read.
void fill_checkpoints(Job& job, Filler& of_framework) {
  Framework& f = job.framework;
  if (!f.stops_recompute) f.stops_recompute = f.shards_by_dtensor && job.model.gated_mlp;
  if (*f.stops_recompute && job.strategy.recompute.kind == Recompute::Kind::full) {
    of_framework.tell("recompute", "up to a block's last matmul", "checkpoints without reentry stop there");
  }
}

/// Compilers pad the matmuls of a vocabulary whose rows do not begin at 16 bytes since 2024. On GPUs without fp8, for a
/// model that nothing newer needs, they may be older: steps of GPT-2 with 50,257 rows on A100, under PyTorch 2.0 and a
/// build of May 2024, took as long as unpadded matmuls do (docs/accuracy-effects.md).
void fill_compiled_head(Job& job, Filler& of_compiler) {
  const bool old = software_year(job) < 2024 && !job.cluster.node.gpu.computes(Dtype::fp8);
  if (!job.framework.compiles_head || job.model.vocab % 8 == 0 || !old || job.training.serves()) return;
  job.framework.compiles_head = false;
  of_compiler.tell("output head", "not padded", "compilers before mid-2024, GPUs without fp8");
}

/// Of the norms that it has: of the stream, of queries and keys, of narrow vectors of latent attention.
std::set<int> norm_widths(const Model& m) {
  std::set<int> out{static_cast<int>(m.hidden)};
  if (m.qk_norm && m.qk_scale != QkScale::none)
    out.insert(m.qk_scale == QkScale::width ? static_cast<int>(m.q_width()) : m.query_head_dim());
  if (m.mla) out.insert({m.mla->kv_lora_rank, m.mla->q_lora_rank > 0 ? m.mla->q_lora_rank : m.mla->kv_lora_rank});
  return out;
}

/// Whether a run goes through Transformer Engine: on GPUs with fp8, and Megatron Core's layers since 2024.
bool has_transformer_engine(const Job& job) {
  return job.cluster.node.gpu.computes(Dtype::fp8) || software_year(job) >= 2024;
}

/// NVIDIA's recipes for latent attention in mxfp8 on racks and for layers with recurrences leave norms to cuDNN, as
/// those for some of Llama, whose widths have tuned kernels, too.
bool leaves_norms_to_cudnn(const Job& job) {
  const Node& node = job.cluster.node;
  const bool rack = node.island() > node.gpus;
  const bool latent = job.model.mla && rack && job.training.precision == Dtype::mxfp8;
  return job.framework.recipes_of_fp8_gpus && node.gpu.computes(Dtype::fp8) && (latent || job.model.recurrent);
}

/// REQUIRES: fused_kernels.norm is filled.
void fill_norms(Job& job, Filler& of_framework) {
  Framework& f = job.framework;
  if (f.tuned_norms.empty()) return;
  const bool fused = job.strategy.fused_kernels.norm.value_or(false) && job.model.norm == Norm::rmsnorm;
  const bool own = fused && !job.model.is_list() && has_transformer_engine(job) && !leaves_norms_to_cudnn(job);
  if (!own) return f.tuned_norms.clear();
  if (traits_of(job.cluster.node.gpu.generation).amd) f.general_norm_sums = f.general_norm_sums_of_amd;
  std::string general;
  for (const int width : norm_widths(job.model)) {
    if (std::ranges::find(f.tuned_norms, width) != f.tuned_norms.end()) continue;
    general += (general.empty() ? "" : " and ") + std::to_string(width);
  }
  if (!general.empty()) of_framework.tell("norms", "general kernels", f.name + " has no tuned ones of " + general);
}

/// Said either way, so that a job resolved anew under another framework has that one's kernel.
void fill_grouped(Job& job) {
  job.cluster.node.calibration.grouped_mm = job.framework.grouped_mm;
  for (NodeGroup& group : job.cluster.groups) group.node.calibration.grouped_mm = job.framework.grouped_mm;
}

/// PyTorch's foreach takes so many times as long as its fused AdamW, on an H100 (docs/prices.md), and has the square
/// root of every second moment, in fp32.
constexpr double kForeachPasses = 2.6;
constexpr int kForeachWorkspace = 4;

void fill_optimizer(Job& job, Filler& of_framework) {
  Framework& f = job.framework;
  const Training& t = job.training;
  const std::optional<bool>& fused = job.strategy.fused_kernels.optimizer;
  if (fused) {
    f.optimizer_passes = *fused ? 1 : std::max(kForeachPasses, f.optimizer_passes);
    if (!f.flat_workspace) f.optimizer_workspace = *fused ? 0 : std::max(kForeachWorkspace, f.optimizer_workspace);
  } else if (f.optimizer_passes > 1 && t.optimizer == Optimizer::adamw && !t.serves()) {
    of_framework.tell("fused_kernels.optimizer", "false", "default of " + f.name);
  }
}

}  // namespace

void fill_kernels(Job& job, Filler& of_framework) {
  fill_grouped(job);
  FusedKernels& fused = job.strategy.fused_kernels;
  const bool transformer = !job.model.is_list();  // a list of operators has its own norms and loss
  const bool ropes = transformer && job.model.ropes();
  if (job.framework.compiles && !job.strategy.compile_given) {
    job.strategy.compile = true;
    of_framework.tell("compile", "true", job.framework.name + " compiles every step");
  }
  if (job.strategy.linear_cross_entropy) {
    Filler(job, "linear_cross_entropy").fill(fused.cross_entropy, true, "fused_kernels.cross_entropy");
  }
  if (job.strategy.compile) {  // a graph compiler fuses chains of elementwise kernels, whatever the framework does
    Filler of_compiler(job, "compile");
    of_compiler.fill(fused.norm, true, "fused_kernels.norm", transformer);
    // Products of complex numbers are left to eager kernels.
    of_compiler.fill(fused.rope, !rotates_complex(job), "fused_kernels.rope", ropes);
    of_compiler.fill(fused.activation, true, "fused_kernels.activation");
    fill_compiled_head(job, of_compiler);
    const bool whole = job.framework.compiles_unsharded_loss && job.strategy.zero < 2;
    if (job.framework.compiles_loss || whole)
      of_compiler.fill(fused.cross_entropy, true, "fused_kernels.cross_entropy", transformer);
  }
  const FusedKernels& usual = job.framework.fused;
  // Kernels of their own for rotary embedding and gated activations came after those for norms: code that a job says
  // has no fused norm has neither.
  if (fused.norm == false) fill_by_the_operation(job, "as fused_kernels.norm", false);
  // Tensor parallelism beside other than DTensor's shards is Megatron's code.
  if (trains_own_code(job) && (job.strategy.tp == 1 || job.framework.shards_by_dtensor)) {
    fill_by_the_operation(job, "LLaMA's or Transformers' code under zero 2 and 3", true);
  }
  if (job.model.rope_scale != 1 && !job.framework.scales_fused_rope) {
    Filler(job, "model.rope_scale, which " + job.framework.name + "'s fused kernel does not take")
        .fill(fused.rope, false, "fused_kernels.rope", ropes);
  }
  const bool fp8 = job.cluster.node.gpu.computes(Dtype::fp8);
  if (job.framework.recipes_of_fp8_gpus && !fp8) fill_older_code(job);
  of_framework.fill(fused.norm, usual.norm, "fused_kernels.norm", transformer);
  fill_norms(job, of_framework);
  of_framework.fill(fused.rope, usual.rope, "fused_kernels.rope", ropes);
  of_framework.fill(fused.activation, usual.activation, "fused_kernels.activation");
  of_framework.fill(fused.softmax, usual.softmax, "fused_kernels.softmax",
                    writes_scores(*job.strategy.attention_kernel));
  const bool recipe = job.framework.recipes_of_fp8_gpus && fp8;
  if (recipe) job.framework.scales_gradients = false;
  of_framework.fill(fused.cross_entropy, recipe ? true : usual.cross_entropy, "fused_kernels.cross_entropy",
                    transformer);
  of_framework.fill(fused.grad_accumulation, usual.grad_accumulation, "fused_kernels.grad_accumulation");
  of_framework.fill(fused.permute, recipe ? true : usual.permute, "fused_kernels.permute", job.model.moe.has_value());
  fill_optimizer(job, of_framework);
}

/// PEFT has adapters in fp32 since version 0.11 (May 2024), and a compiler makes their casts part of other kernels.
void fill_adapters(Job& job, Filler& of_framework) {
  bool& wide = job.framework.wide_adapters;
  const bool narrow_base = !job.strategy.lora || job.strategy.lora->base != LoraBase::bf16;
  wide = wide && !narrow_base && job.training.keeps_master() && !job.strategy.compile && software_year(job) >= 2024;
  if (wide) of_framework.tell("lora", "in fp32 under autocast", "default of " + job.framework.name + ", since 2024");
}

/// LLaMA's reference code and Transformers have q, k, v, gate and up as linears of their own and call PyTorch's
/// cross_entropy on an fp32 copy of the logits. PyTorch's trainers of 2025 compile or fuse the loss, Transformers does
/// not (loss/loss_utils.py, ForCausalLMLoss).
void fill_model_code(Job& job, Filler& of_framework) {
  Framework& f = job.framework;
  fill_checkpoints(job, of_framework);
  const bool compiles_loss = has_loss_of_2025(job);
  if (compiles_loss && job.strategy.compile) f.separate_loss = false;
  const TpOverlap usual = f.overlap.tp.value_or(TpOverlap::none);
  const bool blocking = job.strategy.overlap.tp.value_or(usual) == TpOverlap::none;
  f.keeps_gathered |= f.keeps_blocking_gathers && job.strategy.sp && blocking;
  const bool own = f.own_models && job.strategy.zero >= 2;
  // Transformers' code, whose linears are apart, moves the labels instead since 4.50 of March 2025.
  f.moves_logits = f.moves_logits && (own || f.separate_linears) && software_year(job) < 2025;
  if (!own) return;
  f.shifted_logits = false;  // the framework's own loss
  if (f.shards_by_dtensor) {
    if (job.strategy.sp) f.keeps_gathered = f.copies_sequence = true;
    // PyTorch's own ring knows no documents: of those that do, keys and values travel hop by hop.
    if (job.strategy.cp > 1 && !job.training.packing) f.ring_gathers = true;
  }
  if (!trains_own_code(job)) return;
  if (f.separate_linears && (f.separate_loss || compiles_loss)) return;
  f.separate_linears = true;
  f.separate_loss |= !compiles_loss;
  of_framework.tell("model code", f.separate_loss ? "linears apart, fp32 loss" : "linears apart",
                    "LLaMA's or Transformers' under zero " + std::to_string(job.strategy.zero));
}

/// Of models without biases (MPT), with one head of keys (StarCoder) or without a mask (BERT) the code is other
/// people's.
void fill_written_gelu(Job& job, Filler& of_framework) {
  const Model& m = job.model;
  bool& written = job.framework.written_gelu;
  written = written && is_of_gpt2s_recipe(m) && m.bias && m.causal && m.kv_heads == m.heads && !m.moe &&
            job.strategy.fused_kernels.activation == false;
  if (written)
    of_framework.tell("activation", "eight operations", "GELU as " + job.framework.name + "' GPT-2 writes it");
}

/// Models of GPT-2's recipe (layer norm, GELU, learned positions or ALiBi) are trained with the framework's dropout;
/// recipes since FlashAttention (LLaMA's, MLPerf's) switch it off, so it is filled in where attention writes its scores
/// alone.
void fill_dropout(Job& job, Filler& of_framework) {
  Training& t = job.training;
  if (t.dropout || t.serves() || job.framework.dropout == 0 || job.model.is_list()) return;
  if (!is_of_gpt2s_recipe(job.model) || !writes_scores(*job.strategy.attention_kernel)) return;
  t.dropout = job.framework.dropout;
  of_framework.tell("dropout", std::to_string(*t.dropout), "default of " + job.framework.name);
}

}  // namespace spec
