// core/spec/check.cpp -- the rules that tie model, cluster, training and strategy together.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <string>

#include "core/spec/context_rules.h"
#include "core/spec/job.h"
#include "core/spec/rank_order.h"

namespace spec {
namespace {

constexpr std::int64_t kDegree = 1'000'000, kSequence = 100'000'000, kBatch = 10'000'000, kWidth = 100'000'000;

std::string text(std::int64_t value) { return std::to_string(value); }

/// a * b, stopping at 10^18: no cluster has so many ranks, and no product of the ranges above passes it by one step.
std::int64_t times(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t cap = 1'000'000'000'000'000'000;
  return a > cap / std::max<std::int64_t>(b, 1) ? cap : a * b;
}

class Checker {
 public:
  explicit Checker(const Job& job)
      : job_(job), model_(job.model), cluster_(job.cluster), t_(job.training), s_(job.strategy) {}

  std::vector<base::Fault> run() {
    ranges();
    if (!faults_.empty()) return faults_;  // every rule below divides or multiplies these
    hardware();
    degrees();
    batch();
    simulation();
    for (base::Fault& one : storage_faults(job_)) faults_.push_back(std::move(one));
    if (model_.is_list()) {
      for (base::Fault& one : layer_list_faults(job_)) faults_.push_back(std::move(one));
      return faults_;
    }
    model();
    latent();
    packing();
    for (base::Fault& one : rank_order_faults(job_)) faults_.push_back(std::move(one));
    tensor();
    for (base::Fault& each : context_faults(job_)) faults_.push_back(std::move(each));
    experts();
    pipeline();
    sharding();
    for (base::Fault& each : offload_faults(job_)) faults_.push_back(std::move(each));
    kernels();
    narrow();
    if (faults_.empty()) size();
    return faults_;
  }

 private:
  void fault(std::string field, std::string what, std::string mend) {
    faults_.push_back({std::move(field), std::move(what), std::move(mend)});
  }
  void range(const char* field, std::int64_t value, std::int64_t min, std::int64_t max) {
    if (value < min || value > max) {
      fault(field, text(value) + " is out of range", "write a whole number from " + text(min) + " to " + text(max));
    }
  }
  /// Microbatches of a replica; 0 while the batch or the degrees do not divide.
  std::int64_t whole_microbatches() const {
    const std::int64_t dp = data();
    const std::int64_t one = times(t_.micro_batch, dp);
    return dp && t_.global_batch % one == 0 ? t_.global_batch / one : 0;
  }
  /// Data-parallel replicas, 0 when the other degrees do not divide the ranks.
  std::int64_t data() const {
    if (s_.dp) return *s_.dp;
    const std::int64_t others = times(times(s_.tp, s_.cp), s_.pp);
    return cluster_.gpus() % others == 0 ? cluster_.gpus() / others : 0;
  }

  void ranges() {
    range("model.layers", model_.layers, 1, kDegree);
    if (!model_.is_list()) {
      range("model.hidden", model_.hidden, 1, kWidth);
      range("model.vocab", model_.vocab, 1, kWidth);
      range("training.sequence", t_.sequence, 1, kSequence);
    }
    range("cluster.nodes", cluster_.nodes, 1, kDegree);
    range("cluster.node.gpus", cluster_.node.gpus, 1, 1024);
    range("training.global_batch", t_.global_batch, 1, kBatch);
    range("training.micro_batch", t_.micro_batch, 1, kBatch);
    if (!(t_.dropout >= 0 && t_.dropout < 1)) {
      fault("training.dropout", "the share of dropped activations is out of range", "write a number from 0 to below 1");
    }
    range("strategy.tp", s_.tp, 1, kDegree);
    range("strategy.cp", s_.cp, 1, kDegree);
    range("strategy.pp", s_.pp, 1, kDegree);
    range("strategy.vpp", s_.vpp, 1, kDegree);
    range("strategy.ep", s_.ep, 1, kDegree);
    range("strategy.etp", s_.etp, 1, kDegree);
    range("strategy.zero", s_.zero, 0, 3);
    if (s_.dp) range("strategy.dp", *s_.dp, 1, 1024 * kDegree);
  }

  void hardware() {
    const Node& node = cluster_.node;
    if (!(node.gpu.memory.si() > 0))
      fault("cluster.node.gpu.memory", "is zero", "write the GPU's memory, such as 80GB");
    if (!(node.gpu.hbm.si() > 0)) fault("cluster.node.gpu.hbm", "is zero", "write its bandwidth, such as 3.35TB/s");
    if (!(node.gpu.peak_of(t_.precision).si() > 0)) {
      std::string known;
      for (int d = 0; d < kDtypes; ++d) {
        if (node.gpu.peak[d].si() > 0) known += (known.empty() ? "" : ", ") + std::string(kDtypeNames[d]);
      }
      fault("training.precision", node.gpu.name + " does not compute in " + std::string(name(t_.precision)),
            known.empty() ? "state the GPU's peak in this precision" : "choose one of " + known);
    }
    if (node.nvlink.via != Switch::none && !(node.nvlink.bandwidth.si() > 0)) {
      fault("cluster.node.nvlink.bandwidth", "is zero", "write its bandwidth, such as 450GB/s, or switch: none");
    }
    const bool linked = node.nvlink.via != Switch::none && node.nvlink.domain >= std::min(node.gpus, cluster_.gpus());
    if (node.gpus > 1 && !linked && !(node.pcie.bandwidth.si() > 0)) {
      fault("cluster.node.pcie.bandwidth", "is zero, and the GPUs of a node are not all joined by NVLink",
            "write its bandwidth, such as 63GB/s");
    }
    const bool one_domain = node.nvlink.via != Switch::none && node.nvlink.domain >= cluster_.gpus();
    if (cluster_.nodes > 1 && !one_domain && (node.nic.count < 1 || !(node.nic.bandwidth.si() > 0))) {
      fault("cluster.node.nic", "nodes without network cards cannot be joined",
            "write nic: {bandwidth: 400Gb/s, count: " + text(node.gpus) + ", kind: infiniband}, or cluster.nodes: 1");
    }
    fabric_holds_all();
  }

  void fabric_holds_all() {
    const Fabric& fabric = cluster_.fabric;
    std::int64_t places = cluster_.nodes;
    if (fabric.kind == Fabric::Kind::torus) {
      places = 1;
      for (int n : fabric.shape) places = std::min<std::int64_t>(places * n, 1'000'000'000);
    } else if (fabric.kind == Fabric::Kind::dragonfly && fabric.groups > 0 && !fabric.upper_tiers.empty()) {
      places = std::int64_t{fabric.groups} * fabric.upper_tiers.front().nodes;
    }
    if (cluster_.nodes > places) {
      fault("cluster.fabric",
            "has places for " + text(static_cast<int>(places)) + " nodes, and the cluster has " + text(cluster_.nodes),
            fabric.kind == Fabric::Kind::torus ? "write a larger cluster.fabric.shape"
                                               : "write more cluster.fabric.groups");
    }
  }

  void model() {
    range("model.heads", model_.heads, 1, kDegree);
    range("model.kv_heads", model_.kv_heads, 1, kDegree);
    range("model.head_dim", model_.head_dim, 1, kDegree);
    range("model.ffn", model_.ffn, 1, kWidth);
    if (model_.kv_heads >= 1 && model_.heads % model_.kv_heads != 0) {
      fault("model.kv_heads", text(model_.heads) + " heads do not divide by " + text(model_.kv_heads) + " kv_heads",
            "choose kv_heads that divide heads");
    }
  }

  /// Combinations that no model has and nothing here lowers.
  void latent() {
    if (!model_.mla) return;
    range("model.mla.q_lora_rank", model_.mla->q_lora_rank, 0, kWidth);
    range("model.mla.kv_lora_rank", model_.mla->kv_lora_rank, 1, kWidth);
    range("model.mla.rope_head_dim", model_.mla->rope_head_dim, 1, kDegree);
    range("model.mla.nope_head_dim", model_.mla->nope_head_dim, 1, kDegree);
    range("model.mla.value_head_dim", model_.mla->value_head_dim, 1, kDegree);
    if (model_.parallel_block) {
      fault("model.parallel_block", "latent attention beside a parallel feed-forward is not supported",
            "write parallel_block: false, or leave mla out");
    }
    if (model_.qk_norm) {
      fault("model.qk_norm", "latent attention has norms of its own", "write qk_norm: false, or leave mla out");
    }
  }

  void degrees() {
    const std::int64_t ranks = cluster_.gpus();
    const std::int64_t others = times(times(s_.tp, s_.cp), s_.pp);
    const std::string product = "tp " + text(s_.tp) + " x cp " + text(s_.cp) + " x pp " + text(s_.pp);
    if (ranks % others != 0) {
      const char* field = s_.tp == 1 && s_.pp > 1   ? "strategy.pp"
                          : s_.tp == 1 && s_.cp > 1 ? "strategy.cp"
                                                    : "strategy.tp";
      fault(field, product + " = " + text(others) + " does not divide the cluster's " + text(ranks) + " GPUs",
            "choose degrees whose product divides " + text(ranks) + ", or change cluster.nodes");
    } else if (s_.dp && times(others, *s_.dp) != ranks) {
      fault("strategy.dp",
            product + " x dp " + text(*s_.dp) + " = " + text(times(others, *s_.dp)) + " ranks, but the cluster has " +
                text(ranks) + " GPUs",
            "write dp: " + text(ranks / others) + ", or leave dp out");
    }
  }

  void batch() {
    const std::int64_t dp = data();
    if (dp == 0) return;  // told by degrees()
    const std::int64_t one = times(t_.micro_batch, dp);
    if (t_.global_batch % one == 0) return;
    const std::int64_t below = t_.global_batch / one * one;
    fault("training.global_batch",
          text(t_.global_batch) + " sequences do not divide by micro_batch " + text(t_.micro_batch) + " x dp " +
              text(dp) + " = " + text(one),
          "write " + (below > 0 ? text(below) + " or " : "") + text(below + one) + ", or another micro_batch");
  }

  void packing() {
    if (!t_.packing) return;
    for (base::Fault& one : packing_faults(t_)) faults_.push_back(std::move(one));
    if (s_.cp > 1) {
      fault("training.packing", "packed documents cut over context-parallel ranks are not supported by this version",
            "write cp: 1, or leave packing out");
    }
  }

  void tensor() {
    if (s_.tp == 1) return;
    const auto divides = [&](std::int64_t amount, const std::string& what) {
      if (amount > 0 && amount % s_.tp != 0) {
        fault("strategy.tp", text(amount) + " " + what + " do not divide by tp " + text(s_.tp),
              "choose a tp that divides " + text(amount));
      }
    };
    divides(model_.heads, "heads");
    if (model_.kv_heads > 0 && model_.heads % s_.tp == 0 && model_.kv_heads % s_.tp != 0 &&
        s_.tp % model_.kv_heads != 0) {
      fault("strategy.tp",
            text(model_.kv_heads) + " kv_heads can be neither divided nor replicated over tp " + text(s_.tp),
            "choose a tp that divides " + text(model_.kv_heads) + ", or a multiple of it");
    }
    if (!experts_everywhere()) divides(model_.ffn, "columns of the feed-forward");
    if (model_.moe) divides(model_.moe->shared_ffn, "columns of the shared experts");
    if (model_.mtp > 0) divides(model_.hidden, "columns of the multi-token projection");
    if (s_.sp) divides(t_.sequence, "tokens of a sequence (sp: true)");
  }

  bool experts_everywhere() const { return model_.moe && model_.moe->first_dense == 0 && model_.moe->every == 1; }

  void experts() {
    if (!model_.moe) {
      if (s_.ep > 1)
        fault("strategy.ep", "the model has no experts to spread", "write ep: 1, or choose a model with moe");
      if (s_.etp > 1)
        fault("strategy.etp", "the model has no experts to cut", "write etp: 1, or choose a model with moe");
      return;
    }
    const Moe& moe = *model_.moe;
    range("model.moe.experts", moe.experts, 1, kDegree);
    range("model.moe.top_k", moe.top_k, 1, moe.experts);
    range("model.moe.ffn", moe.ffn, 1, kWidth);
    if (s_.tp > 1 && !s_.sp) {
      fault("strategy.sp", "with tp " + text(s_.tp) + " every rank would send the same tokens to the experts",
            "write sp: true, as Megatron demands for mixture of experts");
    }
    if (moe.experts % s_.ep != 0) {
      fault("strategy.ep", text(moe.experts) + " experts do not divide by ep " + text(s_.ep),
            "choose an ep that divides " + text(moe.experts));
    }
    if (moe.ffn % s_.etp != 0) {
      fault("strategy.etp", text(moe.ffn) + " columns of an expert do not divide by etp " + text(s_.etp),
            "choose an etp that divides " + text(moe.ffn));
    }
    const std::int64_t ranks = times(times(s_.tp, s_.cp), data()), folded = times(s_.ep, s_.etp);
    if (ranks > 0 && ranks % folded != 0) {
      fault(s_.ep > 1 ? "strategy.ep" : "strategy.etp",
            "ep " + text(s_.ep) + " x etp " + text(s_.etp) + " = " + text(folded) + " does not divide the " +
                text(ranks) + " ranks of a stage (tp x cp x dp)",
            "choose degrees whose product divides " + text(ranks));
    }
    if (!s_.moe_routing.empty() && static_cast<std::int64_t>(s_.moe_routing.size()) != moe.experts) {
      fault("strategy.moe_routing",
            text(static_cast<std::int64_t>(s_.moe_routing.size())) + " counts for " + text(moe.experts) + " experts",
            "write one count of tokens for each expert");
    }
    if (s_.moe_capacity_factor && *s_.moe_capacity_factor <= 0) {
      fault("strategy.moe_capacity_factor", "experts without capacity take no token",
            "write a number above 0, such as 1.25, or leave it out");
    }
    // Above the tokens that there are an imbalance would be no imbalance.
    if (s_.moe_imbalance > s_.ep && s_.moe_imbalance > 1) {
      fault("strategy.moe_imbalance", "the hottest of ep " + text(s_.ep) + " ranks cannot have more than all tokens",
            "write a number from 1 to " + text(s_.ep));
    }
    constexpr double most_parameters = 1e16;
    const double parameters = 3.0 * static_cast<double>(model_.hidden) * static_cast<double>(moe.ffn) * moe.experts;
    if (parameters * model_.layers > most_parameters) {
      fault("model.moe.experts", "the experts have more than 10^16 parameters",
            "check experts, ffn and hidden for a digit too many");
    }
  }

  void pipeline() {
    const bool chunked = s_.schedule == Schedule::interleaved;
    const bool own_chunks = s_.schedule == Schedule::zb_v || s_.schedule == Schedule::dualpipe;
    if (chunked && s_.pp == 1) {
      fault("strategy.schedule", "an interleaved schedule needs more than one stage",
            "write schedule: 1f1b and vpp: 1, or pp: 2 or more");
    } else if (chunked && s_.vpp == 1) {
      fault("strategy.schedule", "an interleaved schedule needs more than one chunk a stage",
            "write vpp: 2 or more, or schedule: 1f1b");
    } else if (!chunked && !own_chunks && s_.vpp > 1) {
      fault("strategy.vpp", text(s_.vpp) + " chunks a stage need the interleaved schedule",
            "write schedule: interleaved, or vpp: 1");
    } else if (const std::int64_t count = whole_microbatches(); chunked && count % s_.pp != 0) {
      const std::int64_t round = times(times(t_.micro_batch, data()), s_.pp);
      fault("training.global_batch",
            text(count) + " microbatches do not divide by pp " + text(s_.pp) + ", as the interleaved schedule needs",
            "write a multiple of micro_batch x dp x pp = " + text(round) + ", or schedule: 1f1b");
    }
    split_backward();
    layers();
    if (s_.recompute.layers < 0 || (s_.recompute.layers > 0 && s_.recompute.layers > model_.layers)) {
      fault("strategy.recompute",
            text(s_.recompute.layers) + " layers of a stage, but the model has " + text(model_.layers),
            "write a number from 1 to the layers of a stage, or leave layers out for all");
    }
  }

  /// The schedules beyond 1F1B and interleaving.
  void split_backward() {
    const bool own_chunks = s_.schedule == Schedule::zb_v || s_.schedule == Schedule::dualpipe;
    if (!s_.zero_bubble() && !own_chunks && s_.schedule != Schedule::pipedream) return;
    if (s_.pp == 1) {
      fault("strategy.schedule", "this schedule needs more than one stage", "write schedule: 1f1b, or pp: 2 or more");
    }
    if (own_chunks && s_.vpp > 2) {
      fault("strategy.vpp", text(s_.vpp) + " chunks a stage, but this schedule has two", "leave vpp out");
    }
    if (s_.overlap.p2p && !*s_.overlap.p2p) {
      fault("strategy.overlap.p2p", "this schedule sends beside what it computes", "write p2p: true, or leave it out");
    }
    if (s_.schedule == Schedule::pipedream && s_.optimizer_barrier.value_or(false)) {
      fault("strategy.optimizer_barrier", "an asynchronous pipeline has none", "leave optimizer_barrier out");
    }
    if (s_.schedule != Schedule::dualpipe) return;
    if (s_.pp % 2 != 0) {
      fault("strategy.pp", text(s_.pp) + " stages cannot be fed from both ends evenly, as dualpipe does",
            "write an even pp, or another schedule");
    }
    const std::int64_t count = whole_microbatches(), least = times(2, s_.pp);
    if (count > 0 && (count % 2 != 0 || count < least)) {
      fault("training.global_batch",
            text(count) + " microbatches, but dualpipe needs an even number of at least 2 pp = " + text(least),
            "write a larger global_batch, a smaller micro_batch, or another schedule");
    }
  }

  void layers() {
    const std::int64_t chunks = s_.model_chunks();
    const std::string split =
        "pp " + text(s_.pp) +
        (chunks > s_.pp ? " x vpp " + text(s_.chunks_a_stage()) + " = " + text(chunks) + " chunks" : "");
    if (!s_.stage_layers.empty()) return listed_layers(chunks);
    if (chunks <= model_.layers + 2 && !split_layers(model_, s_).empty()) return;
    const char* field = s_.pp == 1 && s_.vpp > 1 ? "strategy.vpp" : "strategy.pp";
    if (s_.embedding_in_split) {
      const std::int64_t layers = model_.layers;
      return fault(
          field,
          text(layers + 2) + " or " + text(layers + 1) + " layers, embedding and head included, do not divide into " +
              split,
          layers % chunks == 0 ? "leave embedding_in_split out" : "choose other degrees, or write stage_layers");
    }
    Strategy counted = s_;
    counted.embedding_in_split = true;
    const bool helps = chunks <= model_.layers + 2 && !split_layers(model_, counted).empty();
    fault(field, text(model_.layers) + " layers do not divide into " + split,
          std::string("choose degrees that divide them, or write stage_layers") +
              (helps ? ", or embedding_in_split: true" : ""));
  }

  void listed_layers(std::int64_t chunks) {
    const std::vector<int>& list = s_.stage_layers;
    const std::int64_t entries = list.size();
    std::int64_t sum = 0;
    for (const int count : list) sum += count;
    if (s_.embedding_in_split) {
      fault("strategy.embedding_in_split", "has no effect beside stage_layers", "leave one of the two out");
    }
    if (entries != s_.pp && entries != chunks) {
      fault("strategy.stage_layers", text(entries) + " entries for pp " + text(s_.pp),
            "write " + text(s_.pp) + " entries, one for each stage" +
                (s_.vpp > 1 ? ", or " + text(chunks) + ", one for each chunk in model order" : ""));
    } else if (sum != model_.layers) {
      fault("strategy.stage_layers",
            "the entries add up to " + text(sum) + ", but the model has " + text(model_.layers) + " layers",
            "let them add up to " + text(model_.layers));
    } else if (split_layers(model_, s_).empty()) {
      fault("strategy.stage_layers",
            s_.vpp > 1 && entries == s_.pp ? "an entry does not divide by vpp " + text(s_.vpp) + ", or is zero"
                                           : "a stage between the first and the last has no layer",
            "write one layer or more for each chunk; only the first and the last may hold none");
    }
  }

  void sharding() {
    const std::int64_t replicas = times(s_.cp, data());
    if (s_.shard > 0 && s_.zero == 0) {
      fault("strategy.shard", "nothing is sharded with zero 0", "write zero: 1, 2 or 3, or leave shard out");
    } else if (s_.shard == 1 || (s_.shard > 1 && replicas > 0 && replicas % s_.shard != 0)) {
      fault("strategy.shard",
            "groups of " + text(s_.shard) + " do not cut " + text(replicas) + " data-parallel ranks into shards",
            "choose 2 or more that divide " + text(replicas) + ", or leave shard out");
    }
    if (s_.fsdp_given && s_.zero != 3) {
      fault("strategy.fsdp", "has no effect with zero " + text(s_.zero), "write zero: 3, or leave fsdp out");
    }
  }

  void narrow() {
    const int wide = t_.wide_layers.first + t_.wide_layers.last;
    if (wide > 0 && wide >= model_.layers) {
      fault("training.wide_layers", text(wide) + " layers stay in 16 bits, but the model has " + text(model_.layers),
            "write fewer, or precision: bf16");
    }
    if (t_.fp8_parameters.value_or(false)) {
      if (t_.precision != Dtype::fp8 || t_.fp8_recipe == "rowwise" || t_.fp8_recipe == "blockwise") {
        fault("training.fp8_parameters", "weights are kept in fp8 alone under precision fp8 with one scale a tensor",
              "write precision: fp8 and fp8_recipe: delayed or tensorwise, or fp8_parameters: false");
      } else if (!t_.keeps_master()) {
        fault("training.fp8_parameters", "weights in fp8 alone cannot be updated without a master copy",
              "write master_weights: true, or fp8_parameters: false");
      }
    }
    if (bytes_of(t_.precision) < 2 && !(cluster_.node.gpu.peak_of(storage(t_.precision)).si() > 0)) {
      fault("cluster.node.gpu.peak", "bf16 is missing, in which embedding, attention and head are computed",
            "state the GPU's peak in bf16");
    }
    if (s_.lora && s_.lora->rank > model_.hidden) {
      fault("strategy.lora", "a rank of " + text(s_.lora->rank) + " is above the hidden size",
            "write a rank such as 16");
    }
    if (s_.lora && s_.lora->base != LoraBase::bf16 && bytes_of(t_.precision) < 2) {
      fault("strategy.lora", "a base in fewer bits is written out in 16 bits before each matmul",
            "write base: bf16, or precision: bf16");
    }
  }

  void kernels() {
    if (!s_.attention_kernel || attention_runs(*s_.attention_kernel, job_)) return;
    fault("strategy.attention_kernel",
          std::string(name(*s_.attention_kernel)) + " does not run on " + cluster_.node.gpu.name + " in " +
              std::string(name(t_.precision)) + " with head_dim " + text(model_.query_head_dim()),
          "write " + std::string(name(best_attention(job_))) + ", or leave attention_kernel out");
  }

  void simulation() {
    const Simulation& sim = job_.simulation;
    if (!(sim.jitter >= 0 && sim.jitter <= 1))
      fault("simulation.jitter", "is out of range", "write a number from 0 to 1");
    for (const SlowRank& slow : sim.slow_ranks) {
      if (slow.rank < 0 || slow.rank >= cluster_.gpus()) {
        fault("simulation.slow_ranks", "rank " + text(slow.rank) + " does not exist",
              "ranks go from 0 to " + text(cluster_.gpus() - 1));
      }
    }
    for (const SlowLink& slow : sim.slow_links) {
      if (slow.node < 0 || slow.node >= cluster_.nodes) {
        fault("simulation.slow_links", "node " + text(slow.node) + " does not exist",
              "nodes go from 0 to " + text(cluster_.nodes - 1));
      }
    }
  }

  /// Sound piece by piece and absurd together: a digit too many, mostly. In doubles, which no product here overflows;
  /// behind these rules counts of bytes stay within 64 bits and times within the engine's clock.
  void size() {
    constexpr double most_passes = 4e6, most_bytes = 1e18, longest = 10'000;
    const double layers = model_.layers, hidden = static_cast<double>(model_.hidden);
    const double vocab = static_cast<double>(model_.vocab), sequence = static_cast<double>(t_.sequence);
    const double width = static_cast<double>(model_.q_width() + model_.kv_width()),
                 visited = model_.moe
                               ? static_cast<double>(model_.moe->top_k * model_.moe->ffn + model_.moe->shared_ffn) *
                                     s_.moe_capacity_factor.value_or(s_.moe_imbalance)
                               : 0,
                 up = static_cast<double>(model_.up_width()) + 2 * visited +
                      (model_.moe ? hidden * model_.moe->top_k * s_.moe_capacity_factor.value_or(s_.moe_imbalance) : 0);
    const double microbatches = static_cast<double>(whole_microbatches());
    if (microbatches * s_.pp * s_.vpp > most_passes) {
      fault("training.global_batch",
            text(whole_microbatches()) + " microbatches through " + text(times(s_.pp, s_.vpp)) +
                " stages and chunks are more than are simulated",
            "write a larger micro_batch, more data parallelism or a smaller global_batch");
    }
    const AttentionKernel kernel = s_.attention_kernel.value_or(best_attention(job_));
    const bool scores = kernel == AttentionKernel::unfused || kernel == AttentionKernel::fused_softmax;
    const double of_token =
        layers * (40 * hidden + 20 * width + 20 * up + (scores ? 10 * model_.heads * sequence : 0)) + 16 * vocab;
    if (of_token * sequence * static_cast<double>(t_.micro_batch) * std::max(microbatches, 1.0) / s_.cp > most_bytes) {
      fault("training.sequence", "with this batch the activations of one replica's step pass 10^18 bytes",
            "check sequence, global_batch and micro_batch for a digit too many");
    }
    const double parameters =
        layers * hidden * (2 * width + (model_.gated_mlp ? 3 : 2) * (static_cast<double>(model_.ffn) + visited)) +
        vocab * hidden;
    const double attended = model_.window > 0 ? std::min(sequence, static_cast<double>(model_.window)) : sequence;
    const double flops = (6 * parameters + 6 * layers * static_cast<double>(model_.q_width()) * attended) * sequence *
                         static_cast<double>(t_.global_batch);
    if (flops / (cluster_.node.gpu.peak_of(t_.precision).si() * cluster_.gpus()) > longest) {
      fault("training.global_batch", "one step would take more than 10,000 s with every GPU at its peak",
            "check sequence and global_batch for a digit too many, or write more nodes");
    }
  }

  const Job& job_;
  const Model& model_;
  const Cluster& cluster_;
  const Training& t_;
  const Strategy& s_;
  std::vector<base::Fault> faults_;
};

}  // namespace

std::vector<base::Fault> check(const Job& job) {
  if (job.mixed_cluster) return unsupported(job);  // no fields for the rules below
  std::vector<base::Fault> faults = Checker(job).run();
  for (base::Fault& fault : serving_faults(job)) faults.push_back(std::move(fault));
  for (base::Fault& fault : unsupported(job)) faults.push_back(std::move(fault));
  return faults;
}

std::vector<std::string> warnings(const Job& job) {
  std::vector<std::string> out;
  const Node& node = job.cluster.node;
  const Model& model = job.model;
  const std::string sequence =
      "a sequence of " + text(job.training.sequence) + " tokens is beyond the model's maximum of ";
  if (model.max_positions > 0 && job.training.sequence > model.max_positions) {
    out.push_back(sequence + text(model.max_positions));
  }
  const bool nvlink = node.nvlink.via != Switch::none;
  const int reach = std::max(node.gpus, nvlink ? node.nvlink.domain : 1);
  if (job.strategy.tp > reach) {
    out.push_back("tp " + text(job.strategy.tp) + " reaches across nodes of " + text(reach) + " GPUs");
  }
  if (node.calibration.name.empty() || node.calibration.name.starts_with("defaults-")) {
    out.push_back("no calibration was fitted to " + node.gpu.name +
                  ": its kernels are priced as usual for its generation");
  }
  if (!job.training.fp8_recipe.empty() && job.training.precision != Dtype::fp8) {
    out.push_back("fp8_recipe has no effect with precision " + std::string(name(job.training.precision)));
  }
  for (std::string& line : serving_warnings(job)) out.push_back(std::move(line));
  return out;
}

}  // namespace spec
