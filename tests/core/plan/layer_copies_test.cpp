// tests/core/plan/layer_copies_test.cpp -- a layer that is copied is the layer that would have been written.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/layer_copies.h"

#include <gtest/gtest.h>

#include <string>

#include "core/plan/block.h"
#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "tests/sim/random_jobs.h"

namespace {

using plan::Phase;
using plan::Stream;

/// A pen and one for weight gradients, on a plan of their own.
struct Pens {
  plan::Plan plan;
  plan::Pool pool{plan};
  plan::SegmentBuilder out{pool, "own"}, weights{pool, "weights"};
};

void expect_equal(const plan::Segment& a, const plan::Segment& b, const std::string& which) {
  ASSERT_EQ(a.operators.size(), b.operators.size()) << which;
  for (std::size_t i = 0; i < a.operators.size(); ++i) {
    const plan::Operator &x = a.operators[i], &y = b.operators[i];
    ASSERT_TRUE(x.work == y.work && x.name == y.name && x.stream == y.stream && x.phase == y.phase &&
                x.layer == y.layer && x.channel == y.channel && x.launches == y.launches && x.waits == y.waits &&
                x.records == y.records && x.padding == y.padding)
        << which << " operator " << i;
  }
  ASSERT_EQ(a.memory.size(), b.memory.size()) << which;
  for (std::size_t i = 0; i < a.memory.size(); ++i) {
    const plan::MemoryChange &x = a.memory[i], &y = b.memory[i];
    ASSERT_TRUE(x.at == y.at && x.after == y.after && x.category == y.category && x.bytes == y.bytes)
        << which << " change " << i;
  }
}

void expect_equal(Pens& a, Pens& b, const std::string& which) {
  expect_equal(a.out.finish(), b.out.finish(), which);
  expect_equal(a.weights.finish(), b.weights.finish(), which + " weights");
  EXPECT_EQ(a.plan.works, b.plan.works) << which;
  EXPECT_EQ(a.plan.names, b.plan.names) << which;
}

/// Layers that differ in all that a layer's number may decide.
spec::Job random_job(random_jobs::Source& source) {
  spec::Job job = source.job();
  job.model.layers = 8;
  if (source.coin()) job.model.window = 64;
  job.model.window_every = 1 + source.below(3);
  job.model.full_every = source.one_of({0, 0, 3});
  job.model.nope_every = source.one_of({0, 2, 3});
  job.training.wide_layers = {source.below(3), source.below(3)};
  return job;
}

TEST(LayerCopies, AreWhatWouldHaveBeenWritten) {
  using Kind = spec::Recompute::Kind;
  random_jobs::Source source(91);
  for (int n = 0; n < 200; ++n) {
    const spec::Job job = random_job(source);
    const plan::Context c(job);
    Pens written, copied;
    enum { at_once, apart, late } when = source.one_of({at_once, apart, late});
    for (Pens* pens : {&written, &copied}) {
      if (when == apart) pens->out.defer_weights(&pens->weights);
      if (when == late) pens->out.delay_weights(&pens->weights);
    }
    for (int k = 0; k < 24; ++k) {
      const int layer = source.below(job.model.layers);
      const bool backward = source.coin(), first = source.below(4) == 0, joins = source.below(3) == 0;
      const bool runs = source.coin(), limited = job.model.limited_in(layer);
      const Kind kind = source.one_of({Kind::none, job.strategy.recompute.kind});
      const plan::LayerKind what = plan::kind_of(c, layer, kind, backward);
      for (Pens* pens : {&written, &copied}) {
        plan::SegmentBuilder& out = pens->out;
        out.layer = static_cast<std::int16_t>(layer);
        out.first_microbatch = first;
        if (joins) out.join(Stream::recv_prev);
        const auto write = [&] {
          plan::Block block(c, out);
          backward ? block.backward(kind, limited) : block.forward(kind, limited);
        };
        pens == &written ? write() : out.layer_of(what, write);
        if (backward && runs) out.run_weights();
      }
      ASSERT_EQ(written.out.phase, copied.out.phase);
      ASSERT_EQ(written.weights.layer, copied.weights.layer);
    }
    EXPECT_LE(copied.pool.layers().size(), 24u);
    expect_equal(written, copied, std::to_string(n) + ": " + random_jobs::text(job));
    if (HasFatalFailure()) return;
  }
}

TEST(LayerCopies, EveryKindIsWrittenOnce) {
  // Eight dense layers without windows, one behind the other: all forwards are one kind, all backwards another.
  const spec::Job job = toy::job({}, [](spec::Job& j) { j.model.layers = 8; });
  const plan::Context c(job);
  Pens pens;
  int written = 0;
  for (const bool backward : {false, true}) {
    for (int layer = 0; layer < 8; ++layer) {
      pens.out.layer = static_cast<std::int16_t>(layer);
      pens.out.layer_of(plan::kind_of(c, layer, {}, backward), [&] {
        ++written;
        plan::Block block(c, pens.out);
        backward ? block.backward({}, false) : block.forward({}, false);
      });
    }
  }
  EXPECT_EQ(written, 2);
  EXPECT_EQ(pens.out.written().back().layer, 7);
}

}  // namespace
