// SPDX-License-Identifier: Apache-2.0
#include "core/plan/passes.h"

#include <algorithm>

#include "core/plan/activation_offload.h"
#include "core/plan/autocast.h"
#include "core/plan/block.h"
#include "core/plan/data_parallel.h"
#include "core/plan/ends.h"
#include "core/plan/multi_token.h"
#include "core/plan/serving.h"
#include "core/plan/shares.h"
#include "core/plan/states.h"
#include "core/plan/units.h"
#include "core/plan/vocabulary.h"

namespace plan {
namespace {

/// Between the two chunks of a V's lowest stage nothing is sent.
bool neighbours(int stage, int other) { return other >= 0 && other != stage; }

/// Bytes of casts of weights that no backward keeps, which go with autocast's cache as a forward ends.
std::int64_t casts_of_forward(const Context& c, const Chunk& chunk) {
  std::int64_t bytes = chunk.last ? unkept_head_casts(c) : 0;
  for (int i = 0; i < blocks_of(c, chunk); ++i) {
    const int layer = layer_of_block(c, chunk, i);
    bytes += recast_in_block(c, recompute_of(c, chunk.index_in_stage + i), c.model.parts_in(layer));
  }
  return bytes;
}

}  // namespace

/// Bytes of a chunk's result that stay behind the send, for the autograd engine to start from.
std::int64_t Passes::sent_and_kept() const {
  return c_.job.framework.keeps_stage_outputs ? c_.shard_tokens * c_.hidden * c_.element : 0;
}

int Passes::layers_of_group(int index) const {
  return layers_a_gather(c_, chunks_[index], has_buckets(c_, stage_, index));
}

void Passes::gather_group(SegmentBuilder& out, int index, int first_layer) {
  const Chunk& chunk = chunks_[index];
  const int layers = std::min(layers_of_group(index), chunk.layers - first_layer);
  Held parameters;
  for (int i = 0; i < layers; ++i) parameters += layer_parameters(c_, chunk.first_layer + first_layer + i);
  if (first_layer == 0 && chunk.first) parameters.dense += embedding_parameters(c_);
  if (first_layer + layers == chunk.layers && chunk.last) parameters += last_parameters(c_);
  // Where steps are not apart the first one waits for the optimizer, and the others follow it.
  gather_parameters(c_, out, parameters, c_.rolling && first_layer == 0);
}

/// A stage's first parameters are on their way before it waits for its first input, as in Megatron Core, whose
/// optimizer sends for them where it zeroes gradients (2023 to 2024). Leaves out: its later versions, which send for
/// them behind that input unless told to align the stages.
void Passes::gather_ahead(SegmentBuilder& out, int index) {
  if (chunks_[index].layers > 0) return gather_group(out, index, 0);
  gather_parameters(c_, out, chunk_parameters(c_, chunks_[index]), c_.rolling);
}

void Passes::write_layer(SegmentBuilder& out, spec::Recompute::Kind recompute, bool backward) {
  const LayerKind kind = kind_of(c_, out.layer, recompute, backward);
  out.layer_of(kind, [&] {
    Block block(c_, out);
    backward ? block.backward(recompute, kind.limited) : block.forward(recompute, kind.limited);
  });
}

/// In front of the first layer of a group its parameters are awaited and those of the next group sent for, as Megatron
/// Core does (finish_param_sync): a host that waits inside of a layer holds no gather up.
void Passes::forward_layers(SegmentBuilder& out, int index, bool by_buckets, ForwardOffload& activations,
                            ForwardUnits& units) {
  const Chunk& chunk = chunks_[index];
  const int group = layers_of_group(index);
  for (int i = 0; i < chunk.layers; ++i) {
    if (by_buckets && i % group == 0) {
      if (i > 0 && c_.replicated()) out.join(Stream::dp);  // the first group is there
      if (i + group < chunk.layers) gather_group(out, index, i + group);
    }
    out.layer = static_cast<std::int16_t>(chunk.first_layer + i);
    activations.enter(i);
    units.enter(i);
    write_layer(out, recompute_of(c_, chunk.index_in_stage + i), false);
    units.leave(i);
    activations.leave(i);
  }
}

Segment Passes::forward(int index, ForwardKind kind) {
  const Chunk& chunk = chunks_[index];
  SegmentBuilder out(pool_, kind.first ? "first forward" : "forward");
  out.phase = Phase::forward;
  out.first_microbatch = kind.first;
  edges_.finish_sends(out);
  const bool by_buckets = kind.gathers && !c_.fully_sharded;  // units bring theirs themselves
  if (by_buckets) gather_ahead(out, index);
  const bool receives = neighbours(stage_, c_.placement.before(stage_, index));
  const bool ahead = !c_.strategy.traits().flushes;
  if (receives && ahead) out.join(Stream::recv_prev);
  if (receives && !ahead) edges_.receive(out, index, false);
  ForwardOffload activations(c_, out, chunk);
  ForwardUnits units(c_, out, chunk, kind.gathers);
  if (by_buckets && c_.replicated()) out.join(Stream::dp);
  if (chunk.first) {
    await_rows(c_, out, kind.first);
    embedding_forward(c_, out);
  }
  forward_layers(out, index, by_buckets, activations, units);
  if (chunk.last) {
    units.head();
    out.take(Category::parameters, head_casts(c_));
    multi_token_forward(c_, out, chunk.index_in_stage + chunk.layers);
    head_forward(c_, out);
  }
  if (receives && ahead) edges_.receive(out, index, false, true);
  if (neighbours(stage_, c_.placement.behind(stage_, index))) {
    out.take(Category::activations, sent_and_kept());
    edges_.send(out, index, false);
  }
  activations.finish();
  out.give(Category::parameters, casts_of_forward(c_, chunk));
  return out.finish();
}

void Passes::backward_head(SegmentBuilder& out, const Chunk& chunk, bool odd, BackwardUnits& units,
                           GradientBuckets* buckets) {
  await_states_gradient(c_, out, odd);
  head_backward(c_, out);
  multi_token_backward(c_, out, chunk.index_in_stage + chunk.layers);
  out.give(Category::parameters, head_casts(c_) - unkept_head_casts(c_));
  if (buckets) buckets->add(last_parameters(c_));
  units.head();
  out.run_weights();
}

/// Takes the head's gradients behind its backward, a layer's in front of its own, and with the last one's the
/// embedding's.
class Passes::MadeGradients {
 public:
  MadeGradients(const Context& c, SegmentBuilder& out, const Chunk& chunk)
      : c_(c), out_(out), left_(fresh_gradients(c, chunk_parameters(c, chunk))) {}
  void head() { take(std::min(left_, fresh_gradients(c_, last_parameters(c_)))); }
  void layer(int layer, bool last) {
    take(last ? left_ : std::min(left_, fresh_gradients(c_, layer_parameters(c_, layer))));
  }

 private:
  void take(std::int64_t bytes) {
    out_.take(Category::gradients, bytes, fresh_apart(c_));
    left_ -= bytes;
  }
  const Context& c_;
  SegmentBuilder& out_;
  std::int64_t left_;
};

void Passes::backward_layers(SegmentBuilder& out, const Chunk& chunk, Weights when, BackwardOffload& activations,
                             BackwardUnits& units, GradientBuckets* buckets, MadeGradients& made) {
  for (int i = chunk.layers - 1; i >= 0; --i) {
    const int layer = chunk.first_layer + i;
    out.layer = static_cast<std::int16_t>(layer);
    made.layer(layer, i == 0);
    activations.enter(i);
    units.enter(i);
    write_layer(out, recompute_of(c_, chunk.index_in_stage + i), true);
    if (i > 0) out.run_weights();  // those of the first layer run while its input gradient travels
    units.leave(i);
    if (i > 0 || when != Weights::late) units.complete(i);
    if (buckets) buckets->add(layer_parameters(c_, layer));
  }
}

Passes::Backward Passes::backward(int index, BackwardKind kind, Weights when) {
  const Chunk& chunk = chunks_[index];
  const bool split = when == Weights::apart;
  const char* plain = split ? "backward of inputs" : "backward";
  SegmentBuilder out(pool_, kind.reduces && !split ? "last backward" : plain);
  SegmentBuilder weights(pool_, kind.reduces ? "last backward of weights" : "backward of weights");
  weights.phase = out.phase = Phase::backward;
  const bool defers = split && chunk.layers > 0;  // an embedding or a head alone has no input gradient to go first
  if (defers) out.defer_weights(&weights);
  SegmentBuilder& last = defers ? weights : out;                // where gradients are complete
  const bool late = when == Weights::late && chunk.layers > 0;  // likewise
  if (late) out.delay_weights(&weights);
  edges_.finish_sends(out);
  weights.adds_gradients = out.adds_gradients = kind.adds;
  BackwardOffload activations(c_, out, chunk);
  BackwardUnits units(c_, out, last, chunk, {kind.reduces, kind.sums, kind.releases});
  GradientBuckets all(c_, last, {.by_size = has_buckets(c_, stage_, index)});
  GradientBuckets* buckets = kind.reduces && !c_.scatters_gradients ? &all : nullptr;  // units reduce theirs themselves
  const bool sent_on = neighbours(stage_, c_.placement.behind(stage_, index));
  if (chunk.last) {
    backward_head(out, chunk, kind.odd, units, buckets);
  } else if (sent_on) {
    edges_.receive(out, index, true);
  }
  MadeGradients made(c_, last, chunk);
  if (chunk.last && chunk.layers > 0) made.head();
  backward_layers(out, chunk, when, activations, units, buckets, made);
  if (chunk.first) {
    units.embedding();
    embedding_backward(c_, out);
    hold_rows_gradient(c_, out, kind.odd);
    if (buckets) buckets->add({embedding_parameters(c_) - late_table(c_), 0});
  }
  if (sent_on) out.give(Category::activations, sent_and_kept());
  for (int i = 0; i < blocks_of(c_, chunk); ++i) {
    out.give(Category::activations, held_of_frozen(c_, recompute_of(c_, chunk.index_in_stage + i)));
  }
  if (neighbours(stage_, c_.placement.before(stage_, index))) edges_.send(out, index, true);
  out.run_weights();
  if (late) {
    out.layer = static_cast<std::int16_t>(chunk.first_layer);
    units.complete(0);
  }
  if (buckets) buckets->flush();
  units.finish();
  if (chunk.first) await_microbatch(last);
  return {out.finish(), weights.finish()};
}

/// Frameworks whose host goes on when the device is done with a microbatch.
void Passes::await_microbatch(SegmentBuilder& out) const {
  const spec::Framework& framework = c_.job.framework;
  if (framework.reads_each_loss) {
    out.compute(HostSync{}, "loss read by the host", 0);
  } else if (framework.awaits_units && c_.fully_sharded) {
    out.join(Stream::dp);
    out.compute(HostSync{}, "reductions awaited by the host", 0);
  }
}

Segment Passes::infer(bool takes_tokens, bool sends_tokens) {
  const Chunk& chunk = chunks_.front();
  SegmentBuilder out(pool_, c_.decodes ? "decode" : "prefill");
  edges_.finish_sends(out);
  if (chunk.first) {
    if (takes_tokens) receive_tokens(c_, out);
    embedding_forward(c_, out);
  } else {
    edges_.receive(out, 0, false);
  }
  for (int i = 0; i < chunk.layers; ++i) {
    const int layer = chunk.first_layer + i;
    out.layer = static_cast<std::int16_t>(layer);
    Block(c_, out).infer(c_.model.limited_in(layer));
  }
  if (!chunk.last) {
    edges_.send(out, 0, false);
  } else {
    sample_tokens(c_, out);
    if (sends_tokens) send_tokens(c_, out);
  }
  return out.finish();
}

}  // namespace plan
