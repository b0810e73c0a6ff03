// core/spec/model_rules.cpp -- sizes and combinations of a transformer (declared in rules.h).
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/rules.h"

namespace spec {
namespace {

class Transformer : Rules {
 public:
  using Rules::Rules;
  std::vector<base::Fault> run() {
    model();
    reach();
    latent();
    newest_layers();
    indexer();
    recurrent();
    packing();
    return std::move(faults_);
  }

 private:
  void model() {
    range("model.heads", model_.heads, 1, kMostHeads);
    range("model.kv_heads", model_.kv_heads, 1, kMostHeads);
    range("model.head_dim", model_.head_dim, 1, kMostHeadDim);
    range("model.ffn", model_.ffn, 1, kMostFfn);
    if (model_.kv_heads >= 1 && model_.heads % model_.kv_heads != 0) {
      fault("model.kv_heads", text(model_.heads) + " heads do not divide by " + text(model_.kv_heads) + " kv_heads",
            "choose kv_heads that divide heads");
    }
  }

  /// One way to limit what a token sees, and one to say in which layers.
  void reach() {
    range("model.window", model_.window, 0, kMostPositions);
    range("model.attention_chunk", model_.attention_chunk, 0, kMostPositions);
    range("model.window_every", model_.window_every, 1, kMostLayers);
    range("model.full_every", model_.full_every, 0, kMostLayers);
    range("model.nope_every", model_.nope_every, 0, kMostLayers);
    if (model_.rope_scale != 1 && (!model_.ropes() || model_.mla)) {
      fault("model.rope_scale", model_.mla ? "latent attention scales its own rotary parts" : "nothing is rotated",
            "leave rope_scale out");
    }
    if (model_.window > 0 && model_.attention_chunk > 0) {
      fault("model.attention_chunk", "a layer has a sliding window or chunks, not both",
            "write window: 0, or leave attention_chunk out");
    }
    if (model_.full_every > 0 && model_.window_every > 1) {
      fault("model.full_every", "window_every says already which layers have a window",
            "write window_every: 1, or leave full_every out");
    }
  }

  /// Combinations that no model has and nothing here lowers.
  void latent() {
    if (!model_.mla) return;
    range("model.mla.q_lora_rank", model_.mla->q_lora_rank, 0, kMostHidden);
    range("model.mla.kv_lora_rank", model_.mla->kv_lora_rank, 1, kMostHidden);
    range("model.mla.rope_head_dim", model_.mla->rope_head_dim, 1, kMostHeadDim);
    range("model.mla.nope_head_dim", model_.mla->nope_head_dim, 1, kMostHeadDim);
    range("model.mla.value_head_dim", model_.mla->value_head_dim, 1, kMostHeadDim);
    if (model_.parallel_block) {
      fault("model.parallel_block", "latent attention beside a parallel feed-forward is not supported",
            "write parallel_block: false, or leave mla out");
    }
    if (model_.qk_norm) {
      fault("model.qk_norm", "latent attention has norms of its own", "write qk_norm: false, or leave mla out");
    }
    if (model_.nope_every > 0) {
      fault("model.nope_every", "latent attention has rotary parts in every layer",
            "leave nope_every out, or leave mla out");
    }
  }

  /// What nothing here lowers beside recurrent layers or layers of one part alone, or beside projections to experts.
  void newest_layers() {
    const bool recurs = model_.recurrent || !model_.pattern.empty(), latent = model_.moe && model_.moe->latent > 0;
    const bool indexes = model_.indexer.has_value();
    if (!recurs && !latent && !indexes) return;
    const char* of = recurs    ? "a model with recurrent layers"
                     : indexes ? "a model with an indexer"
                               : "experts behind a projection (moe.latent)";
    const auto refuse = [&](bool given, const char* field, const char* what, const char* mend) {
      if (given) fault(field, std::string(what) + " of " + of + " is not supported by this version", mend);
    };
    refuse(t_.serves(), "training.mode", "prefill and decoding", "write mode: train");
    refuse(s_.lora.has_value(), "strategy.lora", "low-rank adapters", "leave lora out");
    refuse(s_.recompute.kind == Recompute::Kind::selective_ops, "strategy.recompute", "selective_ops",
           "write recompute: none, selective or full");
    refuse(indexes && s_.recompute.modules.mla_up_proj, "strategy.recompute", "the module mla_up_proj", "leave it out");
    refuse(indexes && t_.fp8_attention, "training.fp8_attention", "attention in fp8", "write fp8_attention: false");
    refuse(indexes && s_.cp > 1 && s_.cp_kind != CpKind::all_gather, "strategy.cp_kind",
           "context parallelism by a ring or by heads", "write cp_kind: all_gather");
  }

  void indexer() {
    if (t_.indexer_loss != IndexerLoss::none && !model_.indexer) {
      fault("training.indexer_loss", "trains an indexer, and the model has none", "write indexer_loss: none");
    }
    if (!model_.indexer) return;
    range("model.indexer.heads", model_.indexer->heads, 1, kMostHeads);
    range("model.indexer.head_dim", model_.indexer->head_dim, 1, kMostHeadDim);
    range("model.indexer.top_k", model_.indexer->top_k, 1, kMostPositions);
    range("model.indexer.every", model_.indexer->every, 1, kMostLayers);
  }

  void recurrent() {
    if (!model_.recurrent && model_.pattern.empty()) return;
    if (model_.attention_gate && model_.mla) {
      fault("model.attention_gate", "latent attention has no gate", "write attention_gate: false, or leave mla out");
    }
    if (!model_.recurrent) return;
    const Recurrent& r = *model_.recurrent;
    range("model.recurrent.heads", r.heads, 1, kMostHeads);
    range("model.recurrent.head_dim", r.head_dim, 1, kMostHeadDim);
    range("model.recurrent.groups", r.groups, 1, kMostHeads);
    range("model.recurrent.state", r.state, 1, kMostHeadDim);
    range("model.recurrent.chunk", r.chunk, 1, 65'536);
    const std::int64_t cut = std::int64_t{s_.tp} * s_.cp;
    const auto divides = [&](int amount, const char* what) {
      if (amount % cut == 0) return;
      fault(s_.tp > 1 && amount % s_.tp != 0 ? "strategy.tp" : "strategy.cp",
            text(amount) + " " + what + " of the recurrent layers do not divide by tp " + text(s_.tp) + " x cp " +
                text(s_.cp),
            "choose degrees whose product divides " + text(amount));
    };
    divides(r.heads, "heads");
    divides(r.groups, "groups");
  }

  void packing() {
    if (!t_.packing) return;
    for (base::Fault& one : packing_faults(t_)) faults_.push_back(std::move(one));
    if (s_.rings() && job_.framework.ring_gathers) {
      fault("training.packing", "the ring of " + job_.framework.name + " knows no documents",
            "write cp_kind: all_gather or ulysses, or leave packing out");
    }
  }
};

}  // namespace

std::vector<base::Fault> model_faults(const Job& job) { return Transformer(job).run(); }

}  // namespace spec
