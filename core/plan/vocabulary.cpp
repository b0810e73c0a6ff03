// SPDX-License-Identifier: Apache-2.0
#include "core/plan/vocabulary.h"

#include "core/plan/data_parallel.h"
#include "core/plan/ends.h"
#include "core/plan/flops.h"
#include "core/plan/shares.h"

namespace plan {
namespace {

constexpr Stream kSpread = Stream::gather, kJoin = Stream::vocabulary;

// Those of odd and even microbatches take turns: the next one's pass is issued before what waits for this one's.
constexpr EventId kRows = kHopped + 2;
EventId statistics(bool odd) { return static_cast<EventId>(kRows + (odd ? 2 : 1)); }
EventId rows_gradient(bool odd) { return static_cast<EventId>(kRows + (odd ? 6 : 5)); }
EventId states_gradient(bool odd) { return static_cast<EventId>(kRows + (odd ? 4 : 3)); }

/// One pass of one stage.
class Shared {
 public:
  Shared(const Context& c, SegmentBuilder& out, int stage, bool odd)
      : c_(c), out_(out), first_(stage == 0), last_(stage == c.pp - 1), odd_(odd) {}

  void look_up(bool gathers) {
    if (gathers) {
      gather_parameters(c_, out_, {vocabulary_share(c_), 0}, false);
      if (c_.replicated()) out_.join(Stream::dp);
    }
    out_.take(held_by(first_), states());
    rows_forward(c_, out_);
    meet(CollectiveKind::reduce, states(), "embedding reduce over stages");
    out_.record(kRows);
    if (!first_) out_.give(Category::workspace, states());
  }

  /// With one barrier `gradient` is the segment of the pass to come.
  void logits(SegmentBuilder* gradient) {
    out_.phase = Phase::forward;
    if (!last_) out_.take(Category::activations, states());
    spread("normed states broadcast");
    if (last_) out_.wait(event_of(Stream::compute));  // the others have a place for them long before
    out_.join(kSpread);
    logits_forward(c_, out_);
    if (gradient) own_gradient(*gradient);
    // Maximum; sum and target, rescaled by a kernel of a number a token.
    meet(CollectiveKind::all_reduce, c_.tokens * 4, "loss maximum all-reduce over stages");
    meet(CollectiveKind::all_reduce, c_.tokens * 8, "loss sum all-reduce over stages");
    out_.record(statistics(odd_));
    if (gradient) gather_gradient();
  }

  void logits_gradient() {
    out_.phase = Phase::backward;
    out_.join(statistics(odd_));
    const std::int64_t whole = c_.tokens * c_.hidden * c_.element;
    out_.take(Category::workspace, whole);
    logits_backward(c_, out_);
    gather_gradient();
    out_.give(Category::workspace, whole);
    // On the last stage the gradient takes the room of the states; the others are done with both.
    if (!last_) out_.give(Category::activations, states());
  }

  void rows_gradient(bool reduces) {
    out_.phase = Phase::backward;
    if (!first_) out_.take(Category::workspace, states());
    spread("embedding gradient broadcast");
    if (first_) out_.wait(plan::rows_gradient(odd_));
    out_.join(kSpread);
    rows_backward(c_, out_);
    out_.give(held_by(first_), states());
    if (!reduces) return;
    GradientBuckets buckets(c_, out_, {.by_size = !c_.job.framework.whole_later_chunks || first_});
    buckets.add({vocabulary_share(c_), 0});
    buckets.flush();
  }

 private:
  std::int64_t states() const { return c_.shard_tokens * c_.hidden * c_.element; }
  static Category held_by(bool owner) { return owner ? Category::activations : Category::workspace; }
  std::int16_t channel() const { return out_.pool().channel({Channel::Kind::stages}); }

  /// From one stage to all, on a stream of its own: what is joined must not wait behind what is not there yet.
  void spread(const char* name) {
    out_.communicate(Collective{CollectiveKind::broadcast, states(), c_.stages_group}, name, kSpread,
                     out_.pool().channel({Channel::Kind::stages, Axis::dp}), {});
  }

  void meet(CollectiveKind kind, std::int64_t bytes, const char* name) {
    const Collective work{kind, bytes, c_.stages_group};
    if (c_.tp > 1) {
      out_.communicate(work, name, kJoin, channel(), {Stream::compute, Stream::tp});
    } else {
      out_.communicate(work, name, kJoin, channel(), {Stream::compute});
    }
  }

  void gather_gradient() {
    meet(CollectiveKind::reduce, states(), "states gradient reduce over stages");
    out_.record(states_gradient(odd_));
  }

  /// softmax(own logits) W less the target rows of W, while the gradient of the weights waits for the statistics of
  /// all.
  void own_gradient(SegmentBuilder& later) {
    // A chain of kernels makes the gradient beside the fp32 logits.
    const std::int64_t beside = c_.fused_loss ? 0 : c_.tokens * c_.vocab * c_.element;
    out_.take(Category::logits, beside);
    later.phase = Phase::backward;
    later.join(statistics(odd_));
    loss_gradient(c_, later);
    const std::int64_t whole = c_.tokens * c_.hidden * c_.element;
    out_.take(Category::workspace, whole);
    out_.phase = Phase::backward;
    out_.defer_weights(&later);
    head_product_backward(c_, out_);
    out_.compute(MemoryBound{MemoryBound::Kind::embedding, 2 * whole, whole, 1}, "target rows subtracted");
    out_.give(Category::workspace, whole);
    out_.give(Category::logits, kept_logits(c_) + beside);
    out_.give_unretained(Category::activations, last_ ? 0 : states());
  }

  const Context& c_;
  SegmentBuilder& out_;
  bool first_, last_, odd_;
};

}  // namespace

Segment vocabulary_segment(const Context& c, Pool& pool, int stage, const VocabularyCall& call) {
  const bool early = c.strategy.vocab_barriers == 1;
  switch (call.pass) {
    case Pass::look_up: {
      SegmentBuilder out(pool, "look up");
      Shared(c, out, stage, call.odd).look_up(call.gathers);
      return out.finish();
    }
    case Pass::rows_gradient: {
      SegmentBuilder out(pool, call.reduces ? "last rows gradient" : "rows gradient");
      Shared(c, out, stage, call.odd).rows_gradient(call.reduces);
      return out.finish();
    }
    default: break;
  }
  SegmentBuilder out(pool, "logits"), gradient(pool, "logits gradient");
  if (call.pass == Pass::logits || early) Shared(c, out, stage, call.odd).logits(early ? &gradient : nullptr);
  if (call.pass == Pass::logits) return out.finish();
  if (!early) Shared(c, gradient, stage, call.odd).logits_gradient();
  return gradient.finish();
}

/// The first forward waits for all rows that are looked up ahead. A later microbatch's were looked up before the
/// backward that made room for it could begin.
void await_rows(const Context& c, SegmentBuilder& out, bool first) {
  if (!c.spread_vocab) return;
  if (first) out.join(kRows);
  out.take(Category::activations, -c.shard_tokens * c.hidden * c.element);  // from here on the first block's input
}

void await_states_gradient(const Context& c, SegmentBuilder& out, bool odd) {
  if (c.spread_vocab) out.join(states_gradient(odd));
}

void hold_rows_gradient(const Context& c, SegmentBuilder& out, bool odd) {
  if (!c.spread_vocab) return;
  out.record_compute(rows_gradient(odd));
  out.give(Category::activations, -c.shard_tokens * c.hidden * c.element);
}

VocabularyPasses vocabulary_passes(const Context& c) {
  const ForwardFlops one = forward_flops(c.model, c.sequence, c.document);
  const double chunk = c.model.layers * (one.linear + one.attention) / (static_cast<double>(c.pp) * c.vpp);
  const bool again = c.strategy.recompute.kind == spec::Recompute::Kind::full && c.strategy.recompute.layers == 0;
  return {c.strategy.vocab_barriers, one.head / c.pp / chunk, again ? 3.0 : 2.0};
}

}  // namespace plan
