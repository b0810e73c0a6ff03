// core/spec/resolve.cpp -- fills in what the user left out, and says what it was.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "core/spec/context_rules.h"
#include "core/spec/job.h"
#include "core/spec/layer_cuts.h"
#include "core/spec/rank_order.h"
#include "core/spec/stated.h"

namespace spec {
namespace {

/// Fills one option and tells it, when it has an effect on this job.
class Filler {
 public:
  Filler(Job& job, std::string from) : job_(job), from_(std::move(from)) {}

  void fill(std::optional<bool>& option, std::optional<bool> from, const char* field, bool has_effect = true) {
    if (option) return;
    option = from.value_or(false);
    if (has_effect) tell(field, *option ? "true" : "false", from_);
  }
  void tell(const std::string& field, const std::string& value, const std::string& reason) {
    job_.assumptions.push_back(field + ": " + value + " (" + reason + ")");
  }

 private:
  Job& job_;
  std::string from_;
};

bool writes_scores(AttentionKernel kernel) {
  return kernel == AttentionKernel::unfused || kernel == AttentionKernel::fused_softmax;
}

/// Code without kernels of their own for rotary embedding and gated activations.
void fill_by_the_operation(Job& job, const std::string& from) {
  FusedKernels& fused = job.strategy.fused_kernels;
  Filler filler(job, from);
  filler.fill(fused.rope, false, "fused_kernels.rope", job.model.position == Position::rope);
  if (job.model.gated_mlp) filler.fill(fused.activation, false, "fused_kernels.activation");
}

/// Where a framework's newer recipes are those of GPUs with fp8, training on the others is older code: Megatron's
/// before Core 0.5.0 (early 2024), which had no kernels of their own for RMSNorm, rotary embedding and gated
/// activations and subtracted the maximum of the logits into a tensor of its own.
void fill_older_code(Job& job) {
  if (job.training.serves()) return;
  const std::string older = job.framework.name + " before 2024, GPUs without fp8";
  if (job.model.norm == Norm::rmsnorm)
    Filler(job, older).fill(job.strategy.fused_kernels.norm, false, "fused_kernels.norm");
  fill_by_the_operation(job, older);
  job.framework.shifted_logits = true;
}

void fill_kernels(Job& job, Filler& of_framework) {
  FusedKernels& fused = job.strategy.fused_kernels;
  if (job.strategy.compile) {  // a graph compiler fuses chains of elementwise kernels, whatever the framework does
    Filler of_compiler(job, "compile");
    of_compiler.fill(fused.norm, true, "fused_kernels.norm");
    of_compiler.fill(fused.rope, true, "fused_kernels.rope", job.model.position == Position::rope);
    of_compiler.fill(fused.activation, true, "fused_kernels.activation");
    if (job.framework.compiles_loss) of_compiler.fill(fused.cross_entropy, true, "fused_kernels.cross_entropy");
  }
  const FusedKernels& usual = job.framework.fused;
  // Kernels of their own for rotary embedding and gated activations came after those for norms: code that a job says
  // has no fused norm has neither.
  if (fused.norm == false) fill_by_the_operation(job, "as fused_kernels.norm");
  const bool fp8 = job.cluster.node.gpu.peak_of(Dtype::fp8).si() > 0;
  if (job.framework.recipes_of_fp8_gpus && !fp8) fill_older_code(job);
  of_framework.fill(fused.norm, usual.norm, "fused_kernels.norm");
  of_framework.fill(fused.rope, usual.rope, "fused_kernels.rope", job.model.position == Position::rope);
  of_framework.fill(fused.activation, usual.activation, "fused_kernels.activation");
  of_framework.fill(fused.softmax, usual.softmax, "fused_kernels.softmax",
                    writes_scores(*job.strategy.attention_kernel));
  const bool recipe = job.framework.recipes_of_fp8_gpus && fp8;
  of_framework.fill(fused.cross_entropy, recipe ? true : usual.cross_entropy, "fused_kernels.cross_entropy");
  of_framework.fill(fused.grad_accumulation, usual.grad_accumulation, "fused_kernels.grad_accumulation");
}

/// Code of models before LLaMA's is older than PyTorch 2.1, whose checkpoints stop where nothing more is read.
void fill_checkpoints(Job& job, Filler& of_framework) {
  Framework& f = job.framework;
  if (!f.stops_recompute) f.stops_recompute = f.shards_by_dtensor && job.model.gated_mlp;
  if (*f.stops_recompute && job.strategy.recompute.kind == Recompute::Kind::full) {
    of_framework.tell("recompute", "up to a block's last matmul", "checkpoints without reentry stop there");
  }
}

/// LLaMA's reference code and Transformers have q, k, v, gate and up as linears of their own and call PyTorch's
/// cross_entropy on an fp32 copy of the logits. Blackwell needs software of 2025; PyTorch's trainers of then compile or
/// fuse the loss, Transformers does not (loss/loss_utils.py, ForCausalLMLoss).
void fill_model_code(Job& job, Filler& of_framework) {
  Framework& f = job.framework;
  fill_checkpoints(job, of_framework);
  if (!f.own_models || job.strategy.zero < 2) return;
  f.shifted_logits = false;  // the framework's own loss
  if (f.shards_by_dtensor) {
    if (job.strategy.sp) f.keeps_gathered = f.copies_sequence = true;
    // PyTorch's own ring knows no documents: of those that do, keys and values travel hop by hop.
    if (job.strategy.cp > 1 && !job.training.packing) f.ring_gathers = true;
  }
  if (!job.model.gated_mlp || job.training.serves()) return;
  const bool loss = job.cluster.node.gpu.generation != Generation::blackwell || !f.compiles_loss_of_2025;
  if (f.separate_linears && (f.separate_loss || !loss)) return;
  f.separate_linears = true;
  f.separate_loss |= loss;
  of_framework.tell("model code", f.separate_loss ? "linears apart, fp32 loss" : "linears apart",
                    "LLaMA's or Transformers' under zero " + std::to_string(job.strategy.zero));
}

/// Models of GPT-2's recipe (layer norm, GELU, learned positions or ALiBi) are trained with the framework's dropout;
/// recipes since FlashAttention (LLaMA's, MLPerf's) switch it off, so it is filled in where attention writes its scores
/// alone.
void fill_dropout(Job& job, Filler& of_framework) {
  const Model& m = job.model;
  Training& t = job.training;
  if (t.dropout || t.serves() || job.framework.dropout == 0 || m.is_list()) return;
  const bool recipe = m.norm == Norm::layernorm && m.activation == Activation::gelu && !m.gated_mlp &&
                      (m.position == Position::learned || m.position == Position::alibi);
  if (!recipe || !writes_scores(*job.strategy.attention_kernel)) return;
  t.dropout = job.framework.dropout;
  of_framework.tell("dropout", std::to_string(*t.dropout), "default of " + job.framework.name);
}

}  // namespace

bool offers_userbuffers(const Job& job) {
  const Node& node = job.cluster.node;
  return job.strategy.sp && !job.model.moe && !job.model.is_list() && node.gpu.peak_of(Dtype::fp8).si() > 0 &&
         node.gpu.generation != Generation::cdna3 && node.nvlink.via != Switch::none &&
         job.strategy.tp <= node.nvlink.domain && job.training.precision != Dtype::nvfp4;
}

namespace {

void fill_tp_overlap(Job& job, Filler& of_framework) {
  Strategy& s = job.strategy;
  if (s.overlap.tp) return;
  s.overlap.tp = offers_userbuffers(job) && job.framework.tp_of_fp8_gpus
                     ? *job.framework.tp_of_fp8_gpus
                     : job.framework.overlap.tp.value_or(TpOverlap::none);
  if (s.tp > 1) of_framework.tell("overlap.tp", std::string(name(*s.overlap.tp)), "default of " + job.framework.name);
}

void fill_overlap(Job& job, Filler& of_framework) {
  Strategy& s = job.strategy;
  const Overlap& usual = job.framework.overlap;
  const bool sharded = s.zero == 3 && job.framework.zero3_overlaps;
  of_framework.fill(s.overlap.grad_reduce, sharded ? true : usual.grad_reduce, "overlap.grad_reduce", *s.dp * s.cp > 1);
  of_framework.fill(s.overlap.param_gather, sharded ? true : usual.param_gather, "overlap.param_gather",
                    *s.dp * s.cp > 1 && s.zero > 0);
  const bool zero_bubble = s.zero_bubble() || s.schedule == Schedule::pipedream;
  const bool sends_beside = zero_bubble || s.schedule == Schedule::dualpipe;
  Filler of_schedule(job, "part of the schedule");
  if (sends_beside) of_schedule.fill(s.overlap.p2p, true, "overlap.p2p");
  if (s.spreads_vocab()) Filler(job, "part of vocab_parallel: pipeline").fill(s.overlap.p2p, true, "overlap.p2p");
  // A framework that waits for its exchanges overlaps them only where several chunks a stage let it work ahead.
  const bool waits = job.framework.synchronizes_p2p && s.vpp == 1;
  of_framework.fill(s.overlap.p2p, waits ? std::optional(false) : usual.p2p, "overlap.p2p", s.pp > 1);
  of_schedule.fill(s.optimizer_barrier, !zero_bubble, "optimizer_barrier", zero_bubble);
  if (s.schedule == Schedule::dualpipe) of_schedule.fill(s.overlap.expert, true, "overlap.expert", s.ep > 1);
  of_framework.fill(s.overlap.expert, usual.expert, "overlap.expert", s.ep > 1);
  fill_tp_overlap(job, of_framework);
}

/// Where the host is slow, recipes capture the layers of dense models, and of others what is not the experts'; not the
/// units of zero 3, and nothing that the host has a part in: exchanges it waits for, what is offloaded, weights that
/// move.
void fill_graphs(Job& job, Filler& of_framework) {
  Strategy& s = job.strategy;
  if (s.cuda_graphs) return;
  const bool waits = job.framework.synchronizes_p2p && s.pp > 1 && s.overlap.p2p != true;
  const bool host = waits || s.offload.any() || s.schedule == Schedule::pipedream;
  const bool layers = !job.model.is_list() && !job.training.serves() && s.zero < 2;
  const bool captured =
      job.framework.graphs_on_slow_hosts && job.cluster.node.host.launch_slowdown > 1 && layers && !host;
  s.cuda_graphs = captured && !job.model.moe;
  s.graphs_beside_experts = captured && job.model.moe;
  const std::string recipes = "recipes of " + job.framework.name + " for slow hosts";
  if (*s.cuda_graphs) of_framework.tell("cuda_graphs", "true", recipes);
  if (s.graphs_beside_experts) of_framework.tell("cuda_graphs", "of all but the experts", recipes);
}

/// Transformer Engine's modules, which recipes for GPUs with fp8 are made of, keep the host busier than plain ones.
void fill_host(Job& job) {
  Framework& f = job.framework;
  const bool fp8 = job.cluster.node.gpu.peak_of(Dtype::fp8).si() > 0;
  if (fp8 && f.module_launch_of_fp8_gpus > base::Seconds()) f.module_launch = f.module_launch_of_fp8_gpus;
}

/// Recipes for GPUs with fp8 leave the plain exchange where it leaves a node.
void fill_dispatcher(Job& job, Filler& of_framework) {
  Strategy& s = job.strategy;
  const Node& node = job.cluster.node;
  const auto& across_nodes = job.framework.dispatcher_across_nodes;
  if (!job.model.moe || s.ep == 1 || s.moe_dispatcher_given || !across_nodes) return;
  if (std::int64_t{s.ep} * s.etp <= node.gpus || !(node.gpu.peak_of(Dtype::fp8).si() > 0)) return;
  s.moe_dispatcher = *across_nodes;
  of_framework.tell("moe_dispatcher", std::string(name(s.moe_dispatcher)),
                    "recipes of " + job.framework.name + " for experts over several nodes");
}

void tell_ulysses(const Job& job, Filler& of_framework) {
  const Strategy& s = job.strategy;
  if (s.cp == 1 || s.cp_kind != CpKind::ulysses || job.model.is_list() || job.training.mode == Mode::decode) return;
  const UlyssesShare share = ulysses_share(job);
  if (share.divides) return;
  const bool pads = job.framework.ulysses_heads == UlyssesHeads::padded;
  const std::string heads = std::to_string(job.model.heads / s.tp);
  of_framework.tell(
      "heads", pads ? std::to_string(share.queries * s.cp) : std::to_string(share.queries) + " on a rank",
      pads ? "dummy heads beside " + heads + ", for cp_kind: ulysses over " + std::to_string(s.cp)
           : "the most that one of " + std::to_string(s.cp) + " ranks has of " + heads + ", for cp_kind: ulysses");
}

/// Tokens of the hottest of `ep` ranks over the mean; each holds a run of neighbouring experts.
double routed_imbalance(const std::vector<double>& tokens, int ep) {
  const std::size_t each = tokens.size() / static_cast<std::size_t>(ep);
  double all = 0, hottest = 0;
  for (std::size_t first = 0; first < tokens.size(); first += each) {
    double rank = 0;
    for (std::size_t i = first; i < first + each; ++i) rank += tokens[i];
    all += rank;
    hottest = std::max(hottest, rank);
  }
  return all > 0 ? hottest * ep / all : 1;
}

/// What a framework does with layers where the Job says nothing: one chunk a stage is cut by cost, and several, or
/// embedding and head counted as layers, are spread where they do not divide.
void balance_stages(Job& job, Filler& filler) {
  Strategy& s = job.strategy;
  if (!job.framework.balances_stages || s.pp == 1 || !s.stage_layers.empty() || s.spreads_vocab()) return;
  const bool by_cost = s.vpp == 1 && !s.embedding_in_split;
  if (!by_cost && !split_layers(job.model, s).empty()) return;
  s.stage_layers = by_cost ? balanced_layers(job.model, s.pp) : spread_layers(job.model, s.model_chunks());
  s.embedding_in_split = false;
  std::string list;
  for (const int layers : s.stage_layers) list += (list.empty() ? "[" : ", ") + std::to_string(layers);
  filler.tell("stage_layers", list + "]",
              job.framework.name + (by_cost ? " balances stages by cost" : " spreads layers over the chunks"));
}

/// GPUs of one NVLink domain that spans nodes which a job takes when it needs several: schedulers place equal segments
/// of nodes (Slurm's topology/block), so 256 GPUs on racks of 72 are four times 64. A segment below half of the domain
/// is not worth it: then domains are filled.
int placed_domain(const Cluster& cluster) {
  const Node& node = cluster.node;
  if (node.gpus < 1 || node.nvlink.domain <= node.gpus || cluster.gpus() <= node.nvlink.domain)
    return node.nvlink.domain;
  const int whole = node.nvlink.domain / node.gpus;
  for (int nodes = whole; 2 * nodes >= whole; --nodes) {
    if (cluster.nodes % nodes == 0) return nodes * node.gpus;
  }
  return node.nvlink.domain;
}

/// dp, chunks a stage, expert tensor parallel.
void fill_degrees(Job& job, Filler& of_framework) {
  Strategy& s = job.strategy;
  if (!s.dp) {
    s.dp = job.cluster.gpus() / (s.tp * s.cp * s.pp);
    of_framework.tell("dp", std::to_string(*s.dp), "ranks / (tp cp pp)");
  }
  if (s.pp > 1) s.vpp = s.chunks_a_stage();
  // Experts folded over ranks that ep x tp does not divide were never meant to be cut: check() would refuse them.
  const std::int64_t ranks = std::int64_t{s.tp} * s.cp * *s.dp;
  if (!job.framework.experts_follow_tp || !job.model.moe || s.etp_given || s.tp == 1) return;
  const bool rows = job.model.moe->ffn % s.tp == 0;
  if (const int etp = usual_etp(job, *s.dp); etp == s.tp) {
    s.etp = etp;
    of_framework.tell("etp", std::to_string(s.etp), "default of " + job.framework.name + ", tp where etp is left out");
  } else {
    const std::string why = rows ? "ep x tp does not divide the " + std::to_string(ranks) + " ranks of a stage"
                                 : "tp does not divide an expert's width of " + std::to_string(job.model.moe->ffn);
    of_framework.tell("etp", std::to_string(s.etp),
                      why + ", so that it cannot be tp, the default of " + job.framework.name);
  }
}

void fill_attention(Job& job, Filler& filler) {
  if (job.strategy.attention_kernel) return;
  job.strategy.attention_kernel = best_attention(job);
  if (job.model.is_list()) return;
  filler.tell("attention_kernel", std::string(name(*job.strategy.attention_kernel)),
              "best of " + std::string(name(job.cluster.node.gpu.generation)));
}

void tell_cards(const Job& job, Filler& filler) {
  const Nic& nic = job.cluster.node.nic;
  if (!nic.one_each || nic.count < 2 || job.cluster.mixed()) return;
  filler.tell("nic.count", std::to_string(nic.count), "a card for each GPU: gpus or nic was changed without it");
}

void place_domain(Job& job, Filler& filler) {
  const int domain = placed_domain(job.cluster);
  if (domain == job.cluster.node.nvlink.domain) return;
  job.cluster.node.nvlink.domain = domain;
  filler.tell("nvlink.domain", std::to_string(domain), "equal segments of nodes, as schedulers place them");
}

void fill_pipeline_units(Job& job, Filler& of_framework) {
  Strategy& s = job.strategy;
  if (s.zero != 3 || s.pp == 1 || s.fsdp_given || !job.framework.keeps_pipeline_units) return;
  s.fsdp.reshard = s.fsdp.sync_each_microbatch = false;
  of_framework.tell("fsdp", "{reshard: false, sync_each_microbatch: false}",
                    "default of " + job.framework.name + " with pp");
}

void fill_imbalance(Job& job, Filler& filler) {
  Strategy& s = job.strategy;
  if (s.moe_routing.empty()) return;
  s.moe_imbalance = routed_imbalance(s.moe_routing, s.ep);
  filler.tell("moe_imbalance", std::to_string(s.moe_imbalance), "hottest of ep ranks by moe_routing");
}

void fill_fp8(Job& job, Filler& of_framework) {
  Training& t = job.training;
  const std::string framework = "default of " + job.framework.name;
  if (t.precision == Dtype::fp8 && !t.fp8_recipe) {
    t.fp8_recipe = job.framework.keeps_casts ? Fp8Recipe::delayed : Fp8Recipe::tensorwise;
    of_framework.tell("fp8_recipe", std::string(name(*t.fp8_recipe)), framework);
  }
  if (t.fp8_parameters) return;
  const bool one_scale =
      t.precision == Dtype::fp8 && (t.fp8_recipe == Fp8Recipe::delayed || t.fp8_recipe == Fp8Recipe::tensorwise);
  const bool into_gradients = t.precision == Dtype::mxfp8 && job.strategy.zero < 2;
  const bool kept_below = job.strategy.lora && job.strategy.lora->base != LoraBase::bf16;
  t.fp8_parameters = job.framework.fp8_parameters && (one_scale || into_gradients) && t.keeps_master() && !kept_below;
  if (*t.fp8_parameters) of_framework.tell("fp8_parameters", "true", framework);
}

void fill_gradients(Job& job, Filler& filler) {
  const Strategy& s = job.strategy;
  Training& t = job.training;
  if (t.serves()) return;
  if (!t.gradient_dtype) {
    const bool sharded = s.zero > 0 && s.pp == 1;
    const bool halves = (job.framework.fp16_gradients && t.precision == Dtype::fp16) ||
                        (job.framework.sharded_gradients_in_16_bits && t.precision == Dtype::bf16 && sharded);
    t.gradient_dtype = halves ? t.precision : t.gradients();
    filler.tell("gradient_dtype", std::string(name(*t.gradient_dtype)),
                halves ? job.framework.name + " under " + std::string(name(t.precision)) : "main gradients");
  }
  if (!t.master_weights) {
    t.master_weights = t.keeps_master();
    filler.tell("master_weights", *t.master_weights ? "true" : "false", "precision " + std::string(name(t.precision)));
  }
}

/// To the next multiple of the ranks that hold a share of it.
void pad_vocabulary(Job& job, Filler& filler) {
  const Strategy& s = job.strategy;
  const int shares = s.tp * (s.spreads_vocab() ? s.pp : 1);
  const std::int64_t given = job.model.vocab, over = given % shares;
  if (over == 0) return;
  job.model.vocab = given + shares - over;
  filler.tell("vocab", std::to_string(job.model.vocab),
              "padded from " + std::to_string(given) + (shares > s.tp ? " for tp x pp" : " for tp"));
}

}  // namespace

Job resolve(Job job) {
  job.stated = stated_parts(job);
  Filler of_framework(job, "default of " + job.framework.name);
  fill_degrees(job, of_framework);
  balance_stages(job, of_framework);
  fill_attention(job, of_framework);
  tell_cards(job, of_framework);
  place_domain(job, of_framework);
  fill_kernels(job, of_framework);
  fill_dropout(job, of_framework);
  fill_model_code(job, of_framework);
  fill_pipeline_units(job, of_framework);
  fill_overlap(job, of_framework);
  fill_graphs(job, of_framework);
  fill_host(job);
  fill_dispatcher(job, of_framework);
  tell_ulysses(job, of_framework);
  fill_imbalance(job, of_framework);
  fill_fp8(job, of_framework);
  fill_gradients(job, of_framework);
  pad_vocabulary(job, of_framework);
  return job;
}

}  // namespace spec
