// SPDX-License-Identifier: Apache-2.0
#include "core/plan/flops.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/plan/block.h"
#include "core/plan/context.h"
#include "core/plan/moe.h"
#include "core/plan/moe_shape.h"
#include "core/plan/selective_ops.h"
#include "core/plan/serving.h"
#include "core/plan/shares.h"
#include "core/spec/parameters.h"
#include "core/spec/weights_met.h"

namespace plan {
namespace {

/// Pairs of (query, key) that one head scores in one sequence.
double scored_pairs(double s, bool causal, double window) {
  if (window <= 0 || window >= s) return causal ? s * s / 2 : s * s;
  return causal ? window * s - window * window / 2 : window * s;
}

/// The same of a layer that attends within the model's window or chunks.
double limited_pairs(const spec::Model& model, double s) {
  const double chunk = static_cast<double>(model.attention_chunk);
  if (chunk <= 0 || chunk >= s) return scored_pairs(s, model.causal, static_cast<double>(model.window));
  const double whole = std::floor(s / chunk);
  return whole * scored_pairs(chunk, model.causal, 0) + scored_pairs(s - whole * chunk, model.causal, 0);
}

/// Of the layers, those that attend, and those of them that attend so.
struct AttendingShare {
  double all = 0, limited = 0;
};
AttendingShare attending_share(const spec::Model& model) {
  int all = 0, limited = 0;
  for (int layer = 0; layer < model.layers; ++layer) {
    if (!model.parts_in(layer).attends()) continue;
    ++all;
    limited += model.limited_in(layer) ? 1 : 0;
  }
  return {static_cast<double>(all) / model.layers, static_cast<double>(limited) / model.layers};
}

/// Modules of multi-token prediction not counted.
double layers_of_experts(const spec::Model& model) {
  return model.count_layers([](spec::LayerParts parts) { return parts.has_experts(); });
}

/// Of one layer on average.
double weights_met(const spec::Model& model) {
  double sum = 0;
  for (int layer = 0; layer < model.layers; ++layer) sum += spec::weights_met(model, model.parts_in(layer));
  return sum / model.layers;
}

/// One token through one recurrent layer's convolution and states, as Megatron-LM counts it
/// (num_floating_point_operations): 7 operations for each number of the states (mamba2), or 8 and the taps
/// (gated_delta). What kernels compute in chunks instead is not counted.
double scan_flops(const spec::Model& model) {
  const spec::Recurrent& r = *model.recurrent;
  const double states = static_cast<double>(r.value_width()) * r.state;
  if (r.kind == spec::Recurrent::Kind::mamba2) return 7 * states;
  return 8 * states + 2.0 * r.conv * static_cast<double>(r.conv_width());
}

/// Of all heads, for a pair of query and key: scores and values. Behind an indexer both are of latent vectors, as
/// Megatron-Bridge counts it too (its pull request 5324): no kernel has another form.
double attention_lanes(const spec::Model& model) {
  if (model.indexer)
    return static_cast<double>(model.heads) * (2.0 * model.mla->kv_lora_rank + model.mla->rope_head_dim);
  return static_cast<double>(model.q_width()) + static_cast<double>(model.heads) * model.value_head_dim();
}

/// Pairs that one head scores in `s` tokens, which are documents of `document` each, 0: one. `limited`: in a layer that
/// attends within the model's window or chunks.
double pairs_in_documents(const spec::Model& model, double s, double document, bool limited) {
  const double d = document > 0 ? document : s;
  if (model.indexer) return s / d * scored_pairs(d, model.causal, static_cast<double>(model.indexer->top_k));
  return s / d * (limited ? limited_pairs(model, d) : scored_pairs(d, model.causal, 0));
}

/// Attention or scan of this layer, one forward of one sequence.
double mixing_flops(const spec::Job& job, int layer) {
  const spec::Model& m = job.model;
  const double s = static_cast<double>(job.training.sequence);
  const double document = static_cast<double>(spec::document_length(job.training));
  const spec::LayerParts parts = m.parts_in(layer);
  if (parts.recurs()) return s * scan_flops(m);
  if (!parts.attends()) return 0;
  return 2 * attention_lanes(m) * pairs_in_documents(m, s, document, m.limited_in(std::min(layer, m.layers - 1)));
}

/// FLOPs of an indexer for a pair of query and key, forward.
double index_lanes(const spec::Indexer& indexer) { return 2.0 * indexer.heads * indexer.head_dim; }

/// One forward of one indexer for one sequence: its projections, and the scores of all keys before each query.
double indexer_forward(const spec::Job& job) {
  const spec::Model& m = job.model;
  const double s = static_cast<double>(job.training.sequence),
               length = static_cast<double>(spec::document_length(job.training));
  const double d = length > 0 ? length : s;
  return 2 * s * static_cast<double>(spec::indexer_weights(m)) +
         index_lanes(*m.indexer) * s / d * scored_pairs(d, m.causal, 0);
}

/// One forward of this layer, which has these parts, for one sequence.
double layer_flops(const spec::Job& job, int layer, const spec::LayerParts& parts) {
  const double linear = 2 * static_cast<double>(job.training.sequence) * spec::weights_met(job.model, parts);
  return linear + mixing_flops(job, layer) + (parts.indexes ? indexer_forward(job) : 0);
}

/// Of one sequence: a layer's last matmul, where the layer is computed again and nothing reads what it makes.
double last_matmul_spared(const Context& c, int layer) {
  if (!stops_recompute(c, layer)) return 0;
  const spec::LayerParts parts = c.model.parts_in(layer);
  const std::int64_t inner = parts.has_dense() ? c.model.ffn
                             : parts.recurs()  ? c.model.recurrent->value_width()
                                               : std::int64_t{c.model.heads} * c.model.value_head_dim();
  return 2.0 * static_cast<double>(c.job.training.sequence) * static_cast<double>(c.model.hidden) *
         static_cast<double>(inner);
}

/// Of all dense feed-forwards.
double last_matmuls_spared(const spec::Job& job) {
  const Context c(job);
  double out = 0;
  const auto of = [&](int i) { return c.model.parts_in(i).has_dense() ? last_matmul_spared(c, i) : 0; };
  for (int i = 0; i < c.model.layers; ++i) out += of(i);
  for (int i = 0; i < c.model.module_layers(); ++i) out += c.model.mtp * of(c.model.module_layer(i));
  return out;
}

/// `visit`s each block that a stage holds, with its chunk and its place in it.
void each_block(const Context& c, const auto& visit) {
  for (const std::vector<Chunk>& stage : chunks_of(c)) {
    for (const Chunk& chunk : stage) {
      for (int i = 0; i < blocks_of(c, chunk); ++i) visit(chunk, i);
    }
  }
}

bool runs_whole_again(const Context& c, const Chunk& chunk, int block) {
  return recompute_of(c, chunk.index_in_stage + block) == spec::Recompute::Kind::full;
}

/// Matrices of an expert that selective_ops multiplies again.
double expert_matrices_again(const Context& c) {
  return (c.model.gated_mlp ? 2.0 : 1.0) + (runs_down_again(c) ? 1.0 : 0.0);
}

/// Of one sequence: whole layers computed again, without their last matmul where nothing reads it. Of a schedule with
/// two copies of the model each runs half of the sequences.
double again_in_full(const spec::Job& job) {
  const Context c(job);
  double out = 0;
  int held = 0;
  each_block(c, [&](const Chunk& chunk, int i) {
    ++held;
    if (!runs_whole_again(c, chunk, i)) return;
    const int layer = layer_of_block(c, chunk, i);
    out += layer_flops(job, layer, parts_of_block(c, chunk, i)) - last_matmul_spared(c, layer);
  });
  return out * static_cast<double>(c.model.layers + c.model.mtp * c.model.module_layers()) / held;
}

/// Of one sequence, all layers: the matmuls that selective_ops computes again, but the last of each layer, and
/// attention that writes its scores. `attention`: of a layer.
double again_by_selective_ops(const spec::Job& job, double attention) {
  const spec::Model& m = job.model;
  const Context c(job);
  const double s = static_cast<double>(job.training.sequence), h = static_cast<double>(m.hidden);
  const auto of_layer = [&](bool experts) {
    double weights = 0;
    std::vector<CountedMatmul> counted = counted_matmuls(m, experts);
    if (!experts || m.moe->shared_ffn > 0) counted.pop_back();
    for (const CountedMatmul& one : counted) weights += one.kept ? 0 : static_cast<double>(one.in * one.out);
    if (experts) {
      const double visited = static_cast<double>(m.expert_width() * m.moe->top_k * m.moe->ffn);
      weights += h * m.moe->experts + expert_matrices_again(c) * visited;
    }
    return 2 * s * weights;
  };
  const double layers = m.layers + m.mtp, of_experts = layers_of_experts(m) + (m.moe ? m.mtp : 0);
  double out = (layers - of_experts) * of_layer(false);
  if (of_experts > 0) out += of_experts * of_layer(true);
  return c.fused_attention() ? out : out + layers * attention;
}

}  // namespace

ForwardFlops forward_flops(const spec::Model& model, std::int64_t sequence, std::int64_t document) {
  const double s = static_cast<double>(sequence), h = static_cast<double>(model.hidden);
  ForwardFlops out;
  out.linear = 2 * s * weights_met(model);
  out.head = 2 * s * h * static_cast<double>(model.vocab);
  const double d = static_cast<double>(document);
  const AttendingShare share = attending_share(model);
  const double full = pairs_in_documents(model, s, d, false), limited = pairs_in_documents(model, s, d, true);
  out.attention = 2 * attention_lanes(model) * (share.limited * limited + (share.all - share.limited) * full);
  if (!model.recurrent) return out;
  const double recur = model.count_layers([](spec::LayerParts parts) { return parts.recurs(); });
  out.attention += s * scan_flops(model) * recur / model.layers;
  return out;
}

namespace {

/// Layers of a kind in all modules of multi-token prediction.
double modules_with(const spec::Model& model, bool (spec::LayerParts::*that)() const) {
  double count = 0;
  for (int i = 0; i < model.module_layers(); ++i) count += (model.parts_in(model.module_layer(i)).*that)() ? 1 : 0;
  return model.mtp * count;
}

/// Attention and scans of one module, one forward of one sequence.
double multi_token_attention(const spec::Job& job) {
  double flops = 0;
  for (int i = 0; i < job.model.module_layers(); ++i) flops += mixing_flops(job, job.model.module_layer(i));
  return flops;
}

/// The linear layers of one module, one forward of one sequence: the projection of the joined vectors and its layers'.
double multi_token_linear(const spec::Job& job) {
  const spec::Model& m = job.model;
  const double h = static_cast<double>(m.hidden), s = static_cast<double>(job.training.sequence);
  double weights = 2 * h * h;
  for (int i = 0; i < m.module_layers(); ++i) weights += spec::weights_met(m, m.parts_in(m.module_layer(i)));
  return 2 * s * weights;
}

/// Of one prefill, whose head sees the last token of each prompt alone, or of one token for each sequence.
double serving_flops(const spec::Job& job) {
  const bool decodes = job.training.mode == spec::Mode::decode;
  ForwardFlops one = forward_flops(job.model, decodes ? 1 : job.training.sequence);
  if (decodes) {
    // Scores and values of one key in all heads; latent attention scores the cached vector and sums most of it.
    double lanes = 2 * static_cast<double>(job.model.q_width());
    if (const auto& mla = job.model.mla) lanes = job.model.heads * (2.0 * mla->kv_lora_rank + mla->rope_head_dim);
    const std::int64_t seen = job.training.attended();
    const double limited = static_cast<double>(seen_by_one(job.model, true, seen)),
                 share = attending_share(job.model).limited;
    one.attention = 2 * lanes * (share * limited + (1 - share) * static_cast<double>(seen));
  }
  one.head = 2 * static_cast<double>(job.model.hidden) * static_cast<double>(job.model.vocab);
  return static_cast<double>(job.training.global_batch) * (job.model.layers * (one.linear + one.attention) + one.head);
}

/// Of so many passes over a step's tokens, what experts of `factor` times the even rows compute more than those.
double routed_beyond_even(const spec::Job& job, double factor, double passes) {
  const spec::Model& m = job.model;
  const double visited = static_cast<double>(m.expert_width() * m.moe->top_k * m.moe->ffn) * (m.gated_mlp ? 3 : 2);
  const bool serves = job.training.serves();  // without the further modules
  const double layers = layers_of_experts(m) + (serves ? 0 : modules_with(m, &spec::LayerParts::has_experts));
  const double s = job.training.mode == spec::Mode::decode ? 1 : static_cast<double>(job.training.sequence);
  return passes * static_cast<double>(job.training.global_batch) * layers * 2 * s * visited * (factor - 1);
}

/// Frozen weights have no gradient.
double passes_of_experts(const spec::Job& job) { return job.training.serves() ? 1 : job.strategy.lora ? 2 : 3; }

/// Rows of experts over the even ones: of tokens that have room, others are dropped, and as they are multiplied, room
/// without tokens among them where it is padded.
struct ExpertRows {
  double kept = 1, multiplied = 1;
};
ExpertRows rows_of_experts(const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  if (!job.model.moe || !s.moe_capacity_factor) return {};
  const spec::Moe& moe = *job.model.moe;
  const std::int64_t of_all =
      job.training.micro_batch * (job.training.mode == spec::Mode::decode ? 1 : job.training.sequence);
  const std::int64_t copies = of_all / (s.cp * (s.sp ? s.tp : 1)) * moe.top_k;  // of a microbatch on a rank
  if (copies < 1) return {};
  const double room = static_cast<double>(room_for(moe, *s.moe_capacity_factor, copies)) / static_cast<double>(copies);
  const double kept = kept_choices(s, moe, room).all;
  return {kept, s.pads_experts() ? room : kept};
}

/// How often all experts' layers run a whole forward again.
double experts_again(const spec::Job& job) {
  const spec::Recompute& recompute = job.strategy.recompute;
  if (job.training.serves()) return 0;
  if (recompute.kind == spec::Recompute::Kind::selective) return recompute.modules.moe ? 1 : 0;
  const Context c(job);
  if (recompute.kind == spec::Recompute::Kind::selective_ops) {
    return expert_matrices_again(c) / (job.model.gated_mlp ? 3 : 2);
  }
  double all = 0, again = 0;
  each_block(c, [&](const Chunk& chunk, int i) {
    if (!parts_of_block(c, chunk, i).has_experts()) return;
    ++all;
    again += runs_whole_again(c, chunk, i) ? 1 : 0;
  });
  return all > 0 ? again / all : 0;
}

/// Indexers of all layers and modules.
double indexers(const spec::Model& m) {
  return m.count_layers([](spec::LayerParts parts) { return parts.indexes; }) + m.mtp;
}

/// Of a step's indexers: the forward; where they learn, also the projections' weight gradients (their inputs are
/// detached), and the scores of the chosen keys made again with their gradients.
double indexer_flops(const spec::Job& job) {
  const spec::Model& m = job.model;
  if (!m.indexer) return 0;
  double one = indexer_forward(job);
  if (job.training.indexer_loss != spec::IndexerLoss::none) {
    const double s = static_cast<double>(job.training.sequence),
                 length = static_cast<double>(spec::document_length(job.training));
    one += 2 * s * static_cast<double>(spec::indexer_weights(m)) +
           3 * index_lanes(*m.indexer) * pairs_in_documents(m, s, length, false);
  }
  return static_cast<double>(job.training.global_batch) * indexers(m) * one;
}

/// Of all tokens at all experts that they choose.
double even_flops(const spec::Job& job) {
  if (job.training.serves()) return serving_flops(job);
  const ForwardFlops one = forward_flops(job.model, job.training.sequence, spec::document_length(job.training));
  const double batch = static_cast<double>(job.training.global_batch);
  if (job.strategy.lora) {  // frozen weights have no gradient; the adapters' own work is left out
    return batch * (job.model.layers * (2 * one.linear + 3 * one.attention) + 2 * one.head +
                    job.model.mtp * (2 * multi_token_linear(job) + 3 * multi_token_attention(job) + 2 * one.head));
  }
  return indexer_flops(job) + 3 * batch *
                                  (job.model.layers * (one.linear + one.attention) + one.head +
                                   job.model.mtp * (multi_token_linear(job) + multi_token_attention(job) + one.head));
}

}  // namespace

double model_flops(const spec::Job& job) {
  if (job.model.is_list()) {
    return 6 * static_cast<double>(job.training.global_batch) * spec::totals(job.model.list).multiply_adds;
  }
  const double kept = rows_of_experts(job).kept;
  return even_flops(job) + (kept < 1 ? routed_beyond_even(job, kept, passes_of_experts(job)) : 0);
}

namespace {

/// Of one sequence: attention of all layers, once. Scans are no module of it.
double attention_again(const spec::Job& job, const ForwardFlops& layer) {
  const spec::Model& m = job.model;
  if (!m.recurrent) return m.layers * layer.attention + m.mtp * multi_token_attention(job);
  const auto of = [&](int i) { return m.parts_in(i).attends() ? mixing_flops(job, i) : 0; };
  double flops = 0;
  for (int i = 0; i < m.layers; ++i) flops += of(i);
  for (int i = 0; i < m.module_layers(); ++i) flops += m.mtp * of(m.module_layer(i));
  return flops;
}

/// Of one sequence: what Recompute::modules computes again. Norms and activations are no matmuls.
double again_by_modules(const spec::Job& job, const ForwardFlops& layer) {
  const spec::Model& model = job.model;
  const spec::RecomputeModules& m = job.strategy.recompute.modules;
  const double s = static_cast<double>(job.training.sequence), h = static_cast<double>(model.hidden);
  const double attending = model.count_layers([](spec::LayerParts parts) { return parts.attends(); }) +
                           modules_with(model, &spec::LayerParts::attends);
  const double of_experts = layers_of_experts(model) + modules_with(model, &spec::LayerParts::has_experts);
  const double dense = model.count_layers([](spec::LayerParts parts) { return parts.has_dense(); }) +
                       modules_with(model, &spec::LayerParts::has_dense);
  double flops = m.core_attn ? attention_again(job, layer) : 0;
  if (m.core_attn && model.indexer) {  // which is a part of it, as the heads' own values are
    flops += indexers(model) * indexer_forward(job) +
             attending * 2 * s * model.heads * model.mla->kv_lora_rank * model.mla->value_head_dim;
  }
  if (m.mla_up_proj) {
    const spec::Mla& mla = *model.mla;
    const double queries = (mla.q_lora_rank > 0 ? mla.q_lora_rank : h) * (mla.nope_head_dim + mla.rope_head_dim);
    const double rest = static_cast<double>(mla.kv_lora_rank) * (mla.nope_head_dim + mla.value_head_dim);
    flops += attending * 2 * s * model.heads * (queries + rest);
  }
  if (m.mlp) {
    flops += dense * 2 * s * spec::feed_forward_weights_met(model, spec::FeedForward::dense) - last_matmuls_spared(job);
  }
  if (m.moe) {
    flops += of_experts * 2 * s * spec::feed_forward_weights_met(model, spec::FeedForward::experts);
  } else if (m.shared_experts) {
    flops += of_experts * 2 * s * h * (model.gated_mlp ? 3 : 2) * static_cast<double>(model.moe->shared_ffn);
  }
  return flops;
}

}  // namespace

double hardware_flops(const spec::Job& job) {
  if (job.model.is_list()) return model_flops(job);
  const ExpertRows rows = rows_of_experts(job);
  double padded = 0;  // beside the model's own
  if (rows.multiplied != 1 || rows.kept != 1) {
    padded = routed_beyond_even(job, 1 + rows.multiplied - rows.kept, passes_of_experts(job)) +
             routed_beyond_even(job, rows.multiplied, experts_again(job));
  }
  if (job.training.serves()) return model_flops(job) + padded;
  const ForwardFlops one = forward_flops(job.model, job.training.sequence, spec::document_length(job.training));
  const double batch = static_cast<double>(job.training.global_batch);
  double again = 0;
  switch (job.strategy.recompute.kind) {
    case spec::Recompute::Kind::full: again = again_in_full(job); break;
    case spec::Recompute::Kind::selective: again = again_by_modules(job, one); break;
    case spec::Recompute::Kind::selective_ops: again = again_by_selective_ops(job, one.attention); break;
    case spec::Recompute::Kind::none: break;
  }
  return model_flops(job) + padded + batch * again;
}

}  // namespace plan
