// core/spec/resolve.cpp -- fills in what the user left out, and says what it was.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "core/spec/assumed_curves.h"
#include "core/spec/autocast.h"
#include "core/spec/context_rules.h"
#include "core/spec/fillers.h"
#include "core/spec/fused_experts.h"
#include "core/spec/generation.h"
#include "core/spec/job.h"
#include "core/spec/layer_cuts.h"
#include "core/spec/rank_order.h"
#include "core/spec/software_age.h"
#include "core/spec/stated.h"

namespace spec {
namespace {

void tell_ulysses(const Job& job, Filler& of_framework) {
  const Strategy& s = job.strategy;
  if (!s.trades_heads() || job.model.is_list() || job.training.mode == Mode::decode) return;
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

/// What a framework does with layers where the Job says nothing.
void balance_stages(Job& job, Filler& filler) {
  Strategy& s = job.strategy;
  std::vector<int> cut = own_cut(job);
  if (cut.empty()) return;
  const bool by_cost = cuts_by_cost(job);
  s.stage_layers = std::move(cut);
  s.embedding_in_split = false;
  std::string list;
  for (const int layers : s.stage_layers) list += (list.empty() ? "[" : ", ") + std::to_string(layers);
  filler.tell("stage_layers", list + "]",
              job.framework.name + (by_cost ? " balances stages by cost" : " spreads layers over the chunks") +
                  (shares_choices(job.model) ? "; each begins at a layer with an indexer" : ""));
}

/// What every trainer with the framework does, or with experts, which take each token from one rank alone.
void fill_sequence_parallel(Job& job, Filler& of_framework) {
  Strategy& s = job.strategy;
  const bool divides = job.training.sequence % (std::int64_t{s.tp} * s.cp) == 0;
  if (s.sp || s.sp_given || s.tp == 1 || job.training.mode == Mode::decode || job.model.is_list() || !divides) return;
  s.sp = job.framework.sequence_parallel || job.model.moe;
  if (!s.sp) return;
  of_framework.tell("sp", "true",
                    job.framework.sequence_parallel ? "default of " + job.framework.name + " with tp above 1"
                                                    : "with tp above 1 experts take each token from one rank");
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

/// A learned table that nobody tells the length of.
void fill_positions(Job& job, Filler& filler) {
  if (!job.model.has_position_table() || job.model.max_positions > 0 || job.model.is_list()) return;
  const Training& t = job.training;
  job.model.max_positions = t.mode == Mode::decode ? t.cached() : t.sequence;
  filler.tell("model.max_positions", std::to_string(job.model.max_positions), "a row for each position");
}

void fill_padding(Job& job, Filler& filler) {
  Strategy& s = job.strategy;
  if (!job.model.moe || !s.moe_capacity_factor) return;
  filler.fill(s.moe_pad_to_capacity, !job.framework.drops_without_padding, "moe_pad_to_capacity");
}

void fill_imbalance(Job& job, Filler& filler) {
  Strategy& s = job.strategy;
  if (s.moe_routing.empty()) {
    const bool told = s.moe_imbalance_given || s.moe_round_robin || s.pads_experts() || s.ep == 1 || !job.model.moe;
    if (!told)
      filler.tell("moe_imbalance", "1",
                  "as many tokens for every rank of ep; a router left to itself gives the hottest more");
    return;
  }
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

/// NVIDIA's recipes below 16 bits keep and reduce gradients in bf16 since NeMo 2 (end of 2024): those for models that
/// may be older were reduced in fp32 by NeMo's own optimizer unless told.
bool recipe_has_16_bit_gradients(const Job& job) {
  const bool nvidia = !traits_of(job.cluster.node.gpu.generation).amd;
  return job.framework.recipes_of_fp8_gpus && nvidia && bytes_of(job.training.precision) < 2 &&
         software_year(job) >= 2024;
}

void fill_gradients(Job& job, Filler& filler) {
  const Strategy& s = job.strategy;
  Training& t = job.training;
  if (t.serves()) return;
  if (!t.gradient_dtype) {
    const bool sharded = s.zero > 0 && s.pp == 1;
    const bool halves =
        !t.autocast.value_or(false) &&
        ((job.framework.fp16_gradients && t.precision == Dtype::fp16) ||
         (job.framework.sharded_gradients_in_16_bits && storage(t.precision) == Dtype::bf16 && sharded));
    const bool of_weights = job.framework.moments_as_weights && !t.keeps_master() && s.zero < 2;
    const bool of_recipe = recipe_has_16_bit_gradients(job);
    t.gradient_dtype = halves || of_weights || of_recipe ? storage(t.precision) : t.gradients();
    filler.tell("gradient_dtype", std::string(name(*t.gradient_dtype)),
                halves       ? job.framework.name + " under " + std::string(name(t.precision))
                : of_recipe  ? "NVIDIA's recipes below 16 bits"
                : of_weights ? "of the weights, which have no masters"
                             : "main gradients");
  }
  if (!t.moments_dtype && job.framework.moments_as_weights && !t.keeps_master() &&
      t.optimizer != Optimizer::adamw8bit) {
    t.moments_dtype = storage(t.precision);
    filler.tell("moments_dtype", std::string(name(*t.moments_dtype)), "of the weights, which have no masters");
  }
  if (!t.master_weights) {
    t.master_weights = t.keeps_master();
    filler.tell("master_weights", *t.master_weights ? "true" : "false", "precision " + std::string(name(t.precision)));
  }
}

/// To a multiple of the ranks that hold a share of it, in training of the framework's own for each of them.
void pad_vocabulary(Job& job, Filler& filler) {
  const Strategy& s = job.strategy;
  const int shares = s.tp * (s.spreads_vocab() ? s.pp : 1);
  const int rows = job.training.serves() || job.model.is_list() ? 1 : job.framework.vocab_multiple;
  const std::int64_t given = job.model.vocab, multiple = std::int64_t{rows} * shares, over = given % multiple;
  if (over == 0) return;
  job.model.vocab = given + multiple - over;
  const std::string ranks = shares > s.tp ? " tp x pp" : " tp";
  filler.tell(
      "vocab", std::to_string(job.model.vocab),
      "padded from " + std::to_string(given) +
          (rows > 1 ? ": " + job.framework.name + " has a multiple of " + std::to_string(rows) + " x" : " for") +
          ranks);
}

}  // namespace

Job resolve(Job job) {
  job.stated = stated_parts(job);
  Filler of_framework(job, "default of " + job.framework.name);
  fill_sequence_parallel(job, of_framework);
  fill_degrees(job, of_framework);
  balance_stages(job, of_framework);
  fill_attention(job, of_framework);
  assume_curves(job);
  tell_cards(job, of_framework);
  place_domain(job, of_framework);
  fill_positions(job, of_framework);
  fill_kernels(job, of_framework);
  fill_written_gelu(job, of_framework);
  fill_dropout(job, of_framework);
  fill_model_code(job, of_framework);
  fill_adapters(job, of_framework);
  fill_pipeline_units(job, of_framework);
  fill_overlap(job, of_framework);
  fill_graphs(job, of_framework);
  fill_fused_experts(job);
  fill_host(job);
  fill_dispatcher(job, of_framework);
  tell_ulysses(job, of_framework);
  fill_padding(job, of_framework);
  fill_imbalance(job, of_framework);
  fill_fp8(job, of_framework);
  fill_gradients(job, of_framework);
  fill_autocast(job);
  pad_vocabulary(job, of_framework);
  return job;
}

}  // namespace spec
