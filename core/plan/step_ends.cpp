// SPDX-License-Identifier: Apache-2.0
#include "core/plan/step_ends.h"

#include <algorithm>
#include <cmath>

#include "core/plan/block.h"
#include "core/plan/data_parallel.h"
#include "core/plan/group_shape.h"
#include "core/plan/mla.h"
#include "core/plan/multi_token.h"
#include "core/plan/muon.h"
#include "core/plan/offload.h"
#include "core/plan/states.h"
#include "core/spec/parameters.h"

namespace plan {
namespace {

using Kind = MemoryBound::Kind;

/// Sums a number over every rank that holds other parameters (or, under ZeRO-1, other shares of gradients).
void reduce_scalar(const Context& c, SegmentBuilder& out, const char* name) {
  if (c.model_group.size == 1 || !c.barrier) return;
  const std::int16_t channel = out.pool().channel({Channel::Kind::model});
  out.communicate(Collective{CollectiveKind::all_reduce, 4, c.model_group}, name, Stream::dp, channel,
                  {Stream::compute});
  out.join(Stream::dp);
}

/// Whose weights the chunk holds, each once.
std::vector<spec::LayerParts> layers_held(const Context& c, const Chunk& chunk) {
  std::vector<spec::LayerParts> out;
  for (int i = 0; i < blocks_held(c, chunk); ++i) out.push_back(parts_of_block(c, chunk, i));
  return out;
}

/// Weights that every tensor-parallel rank holds whole although each saw other tokens, or other heads: under sequence
/// parallel those of norms, routers and projections to experts (Megatron Core's finalize_model_grads), in any case
/// norms of queries and keys.
std::int64_t shared_parameters(const Context& c, const Chunk& chunk) {
  const std::vector<spec::LayerParts> layers = layers_held(c, chunk);
  const std::int64_t attend = std::ranges::count_if(layers, &spec::LayerParts::attends);
  std::int64_t shared = attend * latent_shared_parameters(c);
  if (c.tp == 1 || c.strategy.lora) return shared;
  if (c.job.training.indexer_loss != spec::IndexerLoss::none)  // averaged, whole on every rank (dsa.py)
    shared += std::ranges::count_if(layers, &spec::LayerParts::indexes) * spec::indexer_parameters(c.model);
  const bool shifted = c.model.norm == spec::Norm::layernorm && c.model.norm_bias;
  const std::int64_t head_norm = (shifted ? 2 : 1) * c.head_dim;
  if (!c.sp) return shared + (c.model.qk_norm && c.model.qk_scale == spec::QkScale::head ? attend * 2 * head_norm : 0);
  const spec::Parameters whole = spec::end_parameters(c.model);
  for (const spec::LayerParts parts : layers) {
    shared += spec::layer_norms(c.model, parts);
    if (!parts.has_experts()) continue;
    shared += c.hidden * c.model.moe->experts + spec::latent_projection_parameters(c.model);
  }
  if (chunk.first) shared += whole.embedding_norm;
  if (chunk.last) shared += whole.final_norm + c.model.module_copies() * 3 * spec::norm_parameters(c.model);
  return shared;
}

/// Gradients that were sent to the host before their sum over tensor-parallel ranks was made go there once more.
void summed_to_host(const Context& c, SegmentBuilder& out, std::int64_t parameters) {
  if (!c.strategy.offload.updates_on_host()) return;
  out.compute(RatedCopy{0, 1}, "offload turn", 0);  // behind the sum
  gradients_to_host(c, out, c.scatters_gradients ? parameters : optimizer_share(c, {parameters, 0}).dense);
}

void reduce_shared(const Context& c, SegmentBuilder& out, const std::vector<Chunk>& chunks) {
  std::int64_t shared = 0;
  for (const Chunk& chunk : chunks) shared += shared_parameters(c, chunk);
  if (c.scatters_gradients) shared = optimizer_share(c, {shared, 0}).dense;
  if (shared == 0) return;
  const std::int16_t channel = out.pool().channel({Channel::Kind::group, Axis::tp});
  const Collective sum{CollectiveKind::all_reduce, shared * c.gradient_element, c.tp_group};
  const char* name = "shared weights gradient all-reduce";
  if (c.replicated()) {
    out.communicate(sum, name, Stream::tp, channel, {Stream::compute, Stream::dp});
  } else {
    out.communicate(sum, name, Stream::tp, channel, {Stream::compute});
  }
  out.join(Stream::tp);
  summed_to_host(c, out, shared);
}

/// Trained numbers behind heads of keys and values that other ranks hold as well, each of which has seen the queries of
/// its own heads alone.
std::int64_t copied_parameters(const Context& c, const Chunk& chunk) {
  const std::int64_t heads = std::ranges::count_if(layers_held(c, chunk), &spec::LayerParts::attends) * 2 * c.kv_width;
  if (c.strategy.lora) return c.strategy.lora->qkv ? heads * c.strategy.lora->rank : 0;
  return heads * (c.hidden + (c.model.has_qkv_bias() ? 1 : 0));
}

/// Frameworks that copy heads sum the gradients of their weights, as bigcode's Megatron-LM does since it found losses
/// too high without (pull requests 36 to 39, 2023); NVIDIA's gathers qkv and cuts it anew instead (gathers_qkv).
void reduce_copied_heads(const Context& c, SegmentBuilder& out, const std::vector<Chunk>& chunks) {
  if (c.axes[Axis::kv_copies].size == 1 || c.gathers_qkv) return;
  std::int64_t copied = 0;
  for (const Chunk& chunk : chunks) copied += copied_parameters(c, chunk);
  if (c.scatters_gradients) copied = optimizer_share(c, {copied, 0}).dense;
  if (copied == 0) return;
  const std::int16_t channel = out.pool().channel({Channel::Kind::group, Axis::kv_copies});
  out.communicate(Collective{CollectiveKind::all_reduce, copied * c.gradient_element, c.group(Axis::kv_copies)},
                  "copied heads' gradient all-reduce", Stream::tp, channel, {Stream::compute});
  out.join(Stream::tp);
  summed_to_host(c, out, copied);
}

/// Whether a rank updates its share as one tensor of fp32 gradients, which those become first.
bool updates_flat(const Context& c) { return c.job.framework.flat_workspace && c.strategy.zero >= 1 && !by_muon(c); }

/// Bytes of a gradient where it is clipped and the optimizer reads it.
std::int64_t updating_gradient_element(const Context& c) {
  return updates_flat(c) ? std::max<std::int64_t>(4, c.gradient_element) : owned_gradient_element(c);
}

/// Laid out in their own dtype first, then cast.
void flatten_gradients(const Context& c, SegmentBuilder& out, std::int64_t owned) {
  if (!updates_flat(c)) return;
  const std::int64_t own = owned_gradient_element(c), flat = updating_gradient_element(c);
  const std::int64_t laid_out = owned * own, cast = own == flat ? 0 : owned;
  out.compute(MemoryBound{Kind::copy, laid_out + cast * own, laid_out + cast * flat, 1}, "flatten gradients",
              own == flat ? 1 : 2);
}

void clip_gradients(const Context& c, SegmentBuilder& out, std::int64_t owned) {
  const std::int64_t bytes = owned * owned_gradient_element(c);
  const std::int64_t wide = c.job.framework.fp64_norm && c.strategy.zero >= 1 ? 8 * owned : 0;
  const int launches = c.job.framework.fused_optimizer ? 2 : 2 * 12;
  if (c.storage == spec::Dtype::fp16) {  // gradients lose their loss scale and are searched for overflow
    out.compute(MemoryBound{Kind::optimizer, bytes, bytes, 1}, "unscale and check gradients", launches / 2);
    reduce_scalar(c, out, "overflow all-reduce");
  }
  out.compute(MemoryBound{Kind::reduce, bytes + wide, wide, 2}, "gradient norm", launches);
  reduce_scalar(c, out, "gradient norm all-reduce");
  if (c.barrier) out.compute(HostSync{}, "gradient norm read by the host", 0);
  flatten_gradients(c, out, owned);
  const std::int64_t clipped = owned * updating_gradient_element(c);
  out.compute(MemoryBound{Kind::optimizer, clipped, clipped, 1}, "clip gradients", launches / 2);
}

/// Bytes a parameter. One flat tensor is of gradients; else it is the square root of every second moment, in their
/// dtype, which bitsandbytes' kernels of 8-bit moments do without.
double workspace_of_parameter(const Context& c) {
  const spec::Training& t = c.job.training;
  const double all = c.job.framework.optimizer_workspace;
  if (t.optimizer == spec::Optimizer::muon) return 0;
  if (c.job.framework.flat_workspace || t.optimizer == spec::Optimizer::sgd) return all;
  return t.optimizer == spec::Optimizer::adamw8bit ? 0 : all * spec::bytes_of(t.moments()) / 4;
}

/// Takes what the optimizer's step has for itself, and returns its bytes. 16-bit gradients that become one flat tensor
/// are laid out in their own dtype before they are cast (DeepSpeed, stage_1_and_2.py and stage3.py, 2022 to 2024).
std::int64_t take_workspace(const Context& c, SegmentBuilder& out, std::int64_t owned) {
  const spec::Framework& framework = c.job.framework;
  // Under zero 3 parameters are updated by tiles, of so many bytes of fp32 weights, where the framework has such.
  const auto tile = static_cast<std::int64_t>(framework.optimizer_tile.si()) / 4;
  const std::int64_t at_once = c.fully_sharded && tile > 0 ? std::min(owned, tile) : owned;
  const std::int64_t flat = framework.flat_workspace && c.gradient_element < 4 ? at_once * c.gradient_element : 0;
  const auto workspace = static_cast<std::int64_t>(static_cast<double>(at_once) * workspace_of_parameter(c));
  out.take(Category::workspace, flat);
  out.take(Category::workspace, workspace);
  return flat + workspace;
}

}  // namespace

int update_launches(const Context& c) { return c.job.framework.fused_optimizer ? 4 : 4 * 24; }

void update_parameters(const Context& c, SegmentBuilder& out, std::int64_t owned) {
  const std::int64_t state = optimizer_bytes(c);
  const bool master = c.job.training.keeps_master();
  // Updated in place where there is no master copy; what is one tensor is cast from that by a kernel of its own.
  const std::int64_t weight = !master ? c.element : updates_flat(c) ? 4 : 0;
  const std::int64_t read = owned * (updating_gradient_element(c) + state + weight) + optimizer_scales(c, owned);
  const std::int64_t written = owned * (state + weight_beside_state(c)) + optimizer_scales(c, owned);
  const std::int64_t workspace = take_workspace(c, out, owned);
  const bool adamw = c.job.training.optimizer == spec::Optimizer::adamw;
  const double passes = adamw ? c.job.framework.optimizer_passes : 1;
  const auto moved = [&](std::int64_t bytes) { return std::llround(static_cast<double>(bytes) * passes); };
  out.compute(MemoryBound{Kind::optimizer, moved(read), moved(written), 1}, "optimizer", update_launches(c));
  out.give(Category::workspace, workspace);
}

void reduce_gradient_norm(const Context& c, SegmentBuilder& out) { reduce_scalar(c, out, "gradient norm all-reduce"); }

namespace {

/// Gradients that were not reduced while backwards ran, in the order in which those made them.
void reduce_at_end(const Context& c, SegmentBuilder& out, const std::vector<Chunk>& chunks) {
  GradientBuckets buckets(c, out, {.by_size = !c.job.framework.whole_later_chunks});
  for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
    if (chunk->last) buckets.add(last_parameters(c));
    for (int i = chunk->layers - 1; i >= 0; --i) buckets.add(layer_parameters(c, chunk->first_layer + i));
    buckets.add({chunk->first ? embedding_parameters(c) : 0, 0});
    buckets.add({chunk->shares_vocabulary ? vocabulary_share(c) : 0, 0});
  }
  buckets.flush();
}

/// Everything that reduces gradients on streams of its own has ended.
void await_reductions(const Context& c, SegmentBuilder& out) {
  if (c.replicated()) out.join(Stream::dp);
  if (c.axes[Axis::replicate].size > 1 || (c.model.moe && c.axes[Axis::expert_replicate].size > 1)) {
    out.join(Stream::replicate);
  }
  if (c.strategy.offload.updates_on_host()) out.join(Stream::to_host);  // sums are made where copies were read
}

/// Sums the gradients of a stage's chunks with those of their copies, which the mirrored stage holds.
void reduce_copies(const Context& c, SegmentBuilder& out, const Held& parameters, int stage) {
  if (!c.placement.two_copies()) return;
  const int other = c.pp - 1 - stage, near = std::min(stage, other), far = std::max(stage, other);
  const std::int16_t channel = out.pool().channel({Channel::Kind::copies, {}, near, far});
  const GroupShape pair = mirror_shape(near, c.axes.hop(), c.pp, c.job.cluster, c.axes.ranks * c.pp);
  const std::int64_t bytes = optimizer_share(c, parameters).total() * c.gradient_element;
  out.communicate(Collective{CollectiveKind::all_reduce, bytes, pair}, "copies' gradient all-reduce", Stream::dp,
                  channel, {Stream::compute});
  out.join(Stream::dp);
}

/// Sums the gradients of an embedding and an output head that are one table, on the first and the last stage.
void reduce_embedding_copies(const Context& c, SegmentBuilder& out, int stage) {
  if (!copies_embedding(c) || c.strategy.lora || (stage != 0 && stage != c.pp - 1)) return;
  const std::int16_t channel = out.pool().channel({Channel::Kind::embedding, {}, 0, c.pp - 1});
  // Under zero 2 and 3 each rank sums its share of the table's gradient.
  const std::int64_t table = c.vocab * c.hidden, share = optimizer_share(c, {table, 0}).dense;
  const std::int64_t bytes = (c.scatters_gradients ? share : table) * c.gradient_element;
  out.communicate(Collective{CollectiveKind::all_reduce, bytes, c.embedding_group},
                  c.model.tied_embeddings ? "tied embedding all-reduce" : "copied embedding all-reduce", Stream::dp,
                  channel, {Stream::compute});
  out.join(Stream::dp);
  gradients_to_host(c, out, share);
}

}  // namespace

void begin_step(const Context& c, SegmentBuilder& out, std::int64_t stage_parameters) {
  out.phase = Phase::optimizer;
  const spec::Framework& f = c.job.framework;
  if (f.fresh_gradients || (f.frees_sharded_gradients && c.strategy.zero > 0)) {  // but executors keep theirs
    out.compute(MemoryBound{Kind::copy, 0, 0, 0}, "zero gradients", 0);
    return;
  }
  out.compute(MemoryBound{Kind::copy, 0, stage_parameters * c.gradient_element, 1}, "zero gradients");
}

bool gathers_at_end(const Context& c) {
  return c.strategy.zero >= 1 && !c.fully_sharded && !c.overlap_param_gather && c.replicated();
}

void end_step(const Context& c, SegmentBuilder& out, const std::vector<Chunk>& chunks, int stage) {
  out.phase = Phase::optimizer;
  const Held parameters = stage_parameters(c, chunks);
  const bool on_host = c.strategy.offload.updates_on_host();
  if (!c.overlap_grad_reduce && !c.scatters_gradients) reduce_at_end(c, out, chunks);
  for (const Chunk& chunk : chunks) {
    if (chunk.first && (c.replicated() || on_host)) GradientBuckets(c, out).send_whole({late_table(c), 0});
  }
  await_reductions(c, out);
  copy_buckets_back(c, out, parameters);
  reduce_copies(c, out, parameters, stage);
  reduce_embedding_copies(c, out, stage);
  reduce_shared(c, out, chunks);
  reduce_copied_heads(c, out, chunks);
  const std::int64_t owned = optimizer_share(c, parameters).total();
  const std::int64_t scattered = unscattered_sums(c, parameters);
  if (on_host) {
    update_on_host(c, out, owned);
    out.give(Category::gradients, scattered);
  } else {
    clip_gradients(c, out, owned);
    out.give(Category::gradients, scattered);
    if (by_muon(c)) {
      update_by_muon(c, out, chunks);
    } else {
      update_parameters(c, out, owned);
    }
    updated_to_host(c, out, owned);
  }
  if (!gathers_at_end(c)) return;
  const bool twice = c.job.framework.each_optimizer_gathers && c.model.moe && c.strategy.ep > 1;
  for (int i = 0; i < (twice ? 2 : 1); ++i) {
    for (const Chunk& chunk : chunks) gather_parameters(c, out, chunk_parameters(c, chunk), true);
  }
}

}  // namespace plan
