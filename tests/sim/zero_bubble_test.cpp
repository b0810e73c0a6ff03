// tests/sim/zero_bubble_test.cpp -- laws of the schedules that split the backward, through plan and engine: whole jobs
// of equal stages whose forward, input gradient and weight gradient take one unit a layer and everything else nothing.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/memory/ledger.h"
#include "sim/pricing/flatten.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Category;
using plan::Phase;
using spec::Schedule;

constexpr trace::Ticks kUnit = 1'000'000;

/// Two layers a stage, stages that wait for nobody between two steps.
spec::Job job(Schedule schedule, int stages, int microbatches) {
  return toy::job({.pp = stages, .microbatches = microbatches, .schedule = schedule}, [&](spec::Job& j) {
    j.model.layers = 2 * stages;
    j.strategy.optimizer_barrier = false;
    j.strategy.overlap.p2p = true;
  });
}

/// One matmul of each pass of a layer has a price.
std::vector<base::Seconds> unit_prices(const plan::Plan& p) {
  std::vector<base::Seconds> prices(p.works.size());
  for (const plan::Segment& segment : p.segments) {
    for (const plan::Operator& op : segment.operators) {
      const std::string& name = p.names[op.name];
      const bool has_one = name == "feed-forward down" || name == "feed-forward up input gradient" ||
                           name == "feed-forward up weight gradient";
      if (has_one) prices[op.work] = base::us(1);
    }
  }
  return prices;
}

struct Ran {
  trace::Ticks idle = 0;         // of the stage that is idle longest
  std::int64_t activations = 0;  // of the stage that holds most
};

Ran run(Schedule schedule, int stages, int microbatches) {
  const spec::Job j = job(schedule, stages, microbatches);
  const plan::Plan p = plan::build(j);
  const trace::Trace trace = sim::simulate(p, sim::flatten(p, unit_prices(p), j));
  Ran out;
  for (const plan::Role& role : p.roles) {
    const std::vector<trace::Span>& kernels = trace.tracks[sim::tracks_of(trace, role)].spans;
    trace::Ticks busy = 0;
    for (const trace::Span& span : kernels) busy += span.end - span.start;
    EXPECT_EQ(busy, 3 * 2 * microbatches * kUnit) << "stages are not equal";
    out.idle = std::max(out.idle, trace.length - busy);
    // The head's weight gradient keeps the gradient of the logits, which the papers' equal stages do not have.
    if (role.stage == (schedule == Schedule::zb_v ? 0 : stages - 1)) continue;
    const std::int64_t held = sim::peak_of(p, role).bytes[static_cast<int>(Category::activations)];
    out.activations = std::max(out.activations, held);
  }
  return out;
}

template <class Law>
void for_pipelines(Law law) {
  for (const int p : {2, 3, 4, 8}) {
    for (const int m : {2 * p, 2 * p + 1, 5 * p}) {
      SCOPED_TRACE("stages " + std::to_string(p) + ", microbatches " + std::to_string(m));
      law(p, m);
    }
  }
}

TEST(ZeroBubble, OneForwardOneBackwardIsIdleForTheOtherStagesPasses) {
  // (p - 1) (F + B + W), each of two layers.
  for_pipelines([](int p, int m) { EXPECT_EQ(run(Schedule::one_f_one_b, p, m).idle, (p - 1) * 6 * kUnit); });
}

TEST(ZeroBubble, H1IsIdleAThirdOfThatWithinTheSameMemory) {
  // (p - 1) (F + B - W). Qi et al., arXiv 2401.10241, table 2.
  for_pipelines([](int p, int m) {
    const Ran h1 = run(Schedule::zb_h1, p, m);
    EXPECT_EQ(h1.idle, (p - 1) * 2 * kUnit);
    EXPECT_LE(h1.activations, run(Schedule::one_f_one_b, p, m).activations);
  });
}

TEST(ZeroBubble, H2IsNeverIdleWithinTwiceTheMemory) {
  for_pipelines([](int p, int m) {
    const Ran h2 = run(Schedule::zb_h2, p, m), plain = run(Schedule::one_f_one_b, p, m);
    EXPECT_EQ(h2.idle, 0);
    EXPECT_GT(h2.activations, plain.activations);
    // 2 p - 1 microbatches for p, and the embedding's output gradient: h numbers beside the 2 x 16 h of two layers.
    EXPECT_LE(32 * p * h2.activations, 33 * (2 * p - 1) * plain.activations);
  });
}

TEST(ZeroBubble, VIsNeverIdleWithinTheMemoryOf1F1B) {
  for_pipelines([](int p, int m) {
    const Ran v = run(Schedule::zb_v, p, m);
    EXPECT_EQ(v.idle, 0);
    EXPECT_LE(v.activations, run(Schedule::one_f_one_b, p, m).activations);
  });
}

}  // namespace
