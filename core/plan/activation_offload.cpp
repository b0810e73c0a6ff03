// SPDX-License-Identifier: Apache-2.0
#include "core/plan/activation_offload.h"

#include <algorithm>

#include "core/plan/block.h"
#include "core/plan/low_precision.h"
#include "core/plan/offload.h"

namespace plan {
namespace {

constexpr EventId kOut = kHopped + 4, kBack = kHopped + 6;  // pairs: layers take turns
EventId turn(EventId first, int layer) { return static_cast<EventId>(first + layer % 2); }

/// Layers of the chunk whose activations leave, from its first on.
int leaving(const Context& c, const Chunk& chunk) {
  return c.strategy.offload.activations ? chunk.layers - (chunk.last ? 1 : 0) : 0;
}

std::int64_t kept(const Context& c, const Chunk& chunk, int layer) {
  const int of_model = chunk.first_layer + layer;
  const spec::LayerParts parts = c.model.parts_in(of_model);
  return kept_activations(c, recompute_of(c, chunk.index_in_stage + layer), parts, narrow(c, of_model)).total();
}

/// Lets compute wait for `event` in an operator of its own, for what comes next may have much to wait for already.
void await(SegmentBuilder& out, EventId event) {
  out.compute(RatedCopy{0, 1}, "offload turn", 0);
  out.join(event);
}

}  // namespace

void ForwardOffload::enter(int layer) {
  if (leaving(c_, chunk_) == 0) return;
  await(out_, turn(kOut, layer));
  if (layer >= 2 && layer - 2 < leaving(c_, chunk_)) out_.give(Category::activations, kept(c_, chunk_, layer - 2));
}

void ForwardOffload::leave(int layer) {
  if (layer >= leaving(c_, chunk_)) return;
  const std::int64_t bytes = kept(c_, chunk_, layer);
  out_.beside(RatedCopy{bytes, host_rates(c_).copy}, "activations to host", Stream::to_host, {Stream::compute});
  out_.record(turn(kOut, layer));
  out_.hold_on_host(bytes);
}

void ForwardOffload::finish() {
  const int count = leaving(c_, chunk_);
  for (int layer = std::max(0, chunk_.layers - 2); layer < count; ++layer) {
    out_.give(Category::activations, kept(c_, chunk_, layer));
  }
}

BackwardOffload::BackwardOffload(const Context& c, SegmentBuilder& out, const Chunk& chunk)
    : c_(c), out_(out), chunk_(chunk), top_(leaving(c, chunk) - 1) {
  if (top_ >= 0) fetch(top_, false);
}

void BackwardOffload::fetch(int layer, bool behind_compute) {
  const std::int16_t computing = out_.layer;
  out_.layer = static_cast<std::int16_t>(chunk_.first_layer + layer);
  const std::int64_t bytes = kept(c_, chunk_, layer);
  out_.take(Category::activations, bytes);
  out_.beside_events(RatedCopy{bytes, host_rates(c_).copy}, "activations to device", Stream::to_device,
                     {event_of(Stream::to_host), behind_compute ? event_of(Stream::compute) : EventId{-1}});
  out_.record(turn(kBack, layer));
  out_.hold_on_host(-bytes);
  out_.layer = computing;
}

void BackwardOffload::enter(int layer) {
  if (top_ < 0) return;
  const EventId arrived = turn(kBack, layer);
  out_.compute(RatedCopy{0, 1}, "offload turn", 0);
  if (layer > 0 && layer - 1 < top_) fetch(layer - 1, true);
  if (layer <= top_) out_.join(arrived);
}

}  // namespace plan
