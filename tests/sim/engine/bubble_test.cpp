// tests/sim/engine/bubble_test.cpp -- pipelines of equal stages and free communication, written by hand, against the
// bubble fractions of the papers: GPipe and 1F1B (p-1) / (m+p-1), interleaved (p-1) / (v m + p-1). Huang et al., arXiv
// 1811.06965; Narayanan et al., arXiv 2104.04473, section 2.2 (there over the ideal time instead of the whole).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/plan/builder.h"
#include "core/plan/schedule/schedule.h"
#include "sim/analysis/breakdown.h"
#include "sim/engine/engine.h"
#include "sim/pricing/flatten.h"
#include "tests/support/toy.h"

namespace {

using plan::Channel;
using plan::Phase;
using plan::SegmentBuilder;
using plan::Stream;
using trace::Ticks;

constexpr Ticks kForward = 1'000'000, kBackward = 2 * kForward;  // 1 us and 2 us a chunk
const plan::Work kForwardWork = plan::MemoryBound{.read = 1}, kBackwardWork = plan::MemoryBound{.read = 2},
                 kHop = plan::Transfer{.bytes = 1};

struct Pipe {
  spec::Schedule schedule;
  int stages, chunks, microbatches;
};

/// One chunk's forward or backward: receive, compute, send.
std::int32_t segment(plan::Plan& plan, plan::Pool& pool, const Pipe& pipe, int stage, int chunk, bool backward) {
  SegmentBuilder out(pool, backward ? "backward" : "forward");
  out.phase = backward ? Phase::backward : Phase::forward;
  const int place = chunk * pipe.stages + stage, last = pipe.stages * pipe.chunks - 1;
  const auto kind = backward ? Channel::Kind::backward_edge : Channel::Kind::forward_edge;
  const int before = (stage + pipe.stages - 1) % pipe.stages, behind = (stage + 1) % pipe.stages;
  const int from = backward ? behind : before, to = backward ? before : behind;
  if (place != (backward ? last : 0)) {
    const Stream stream = backward ? Stream::recv_next : Stream::recv_prev;
    out.communicate(kHop, "receive", stream, pool.channel({kind, {}, from, stage}), {});
    out.join(stream);
  }
  out.compute(backward ? kBackwardWork : kForwardWork, "kernel");
  if (place != (backward ? 0 : last)) {
    out.communicate(kHop, "send", backward ? Stream::send_prev : Stream::send_next, pool.channel({kind, {}, stage, to}),
                    {Stream::compute});
  }
  plan.segments.push_back(out.finish());
  return static_cast<std::int32_t>(plan.segments.size()) - 1;
}

plan::Plan pipeline(const Pipe& pipe) {
  plan::Plan plan;
  plan::Pool pool(plan);
  const auto orders = plan::orders(pipe.schedule, {0, pipe.stages, pipe.chunks, pipe.microbatches});
  for (int stage = 0; stage < pipe.stages; ++stage) {
    plan::Role role;
    role.stage = role.first_rank = stage;
    std::vector<std::int32_t> forwards, backwards;
    for (int chunk = 0; chunk < pipe.chunks; ++chunk) {
      forwards.push_back(segment(plan, pool, pipe, stage, chunk, false));
      backwards.push_back(segment(plan, pool, pipe, stage, chunk, true));
    }
    for (const plan::Slot& slot : orders[stage]) {
      const std::int32_t called = (slot.pass == plan::Pass::backward ? backwards : forwards)[slot.chunk];
      role.calls.push_back({called, slot.microbatch, static_cast<std::int16_t>(slot.chunk)});
    }
    plan.roles.push_back(role);
  }
  plan.pp = pipe.stages;
  return plan;
}

trace::Trace run(const Pipe& pipe) {
  const plan::Plan plan = pipeline(pipe);
  std::vector<base::Seconds> prices;
  for (const plan::Work& work : plan.works) {
    const auto* kernel = std::get_if<plan::MemoryBound>(&work);
    prices.push_back(base::us(kernel == nullptr ? 0 : static_cast<double>(kernel->read)));
  }
  const sim::EngineInput input =
      sim::flatten(plan, prices, toy::job({.pp = pipe.stages}, [](spec::Job& j) { j.model.layers = j.strategy.pp; }));
  sim::EngineOutput output = sim::run(input);
  EXPECT_FALSE(output.deadlocked);
  return sim::to_trace(plan, input, std::move(output));
}

/// Every stage computes v m (f + b) and the step takes (v m + p - 1) (f + b), so the rest is (p-1) / (v m + p-1).
void expect_published_bubble(const Pipe& pipe) {
  const trace::Trace trace = run(pipe);
  const Ticks work = Ticks{pipe.chunks} * pipe.microbatches * (kForward + kBackward);
  const Ticks bubble = (pipe.stages - 1) * (kForward + kBackward);
  EXPECT_EQ(trace.length, work + bubble);
  for (int stage = 0; stage < pipe.stages; ++stage) {
    const sim::Breakdown shares = sim::breakdown(trace, static_cast<std::size_t>(stage) * trace.streams);
    EXPECT_EQ(shares[static_cast<int>(sim::Share::compute)], work) << "stage " << stage;
    EXPECT_EQ(shares[static_cast<int>(sim::Share::bubble)], bubble) << "stage " << stage;
  }
}

TEST(Bubble, OfGPipeIsThePublishedFraction) {
  for (const int p : {1, 2, 3, 4, 8}) {
    for (const int m : {1, 2, 4, 7, 8, 32}) {
      SCOPED_TRACE("p " + std::to_string(p) + " m " + std::to_string(m));
      expect_published_bubble({spec::Schedule::gpipe, p, 1, m});
    }
  }
}

TEST(Bubble, OfOneForwardOneBackwardIsThePublishedFraction) {
  for (const int p : {1, 2, 3, 4, 8}) {
    for (const int m : {1, 2, 4, 7, 8, 32}) {  // also fewer microbatches than stages
      SCOPED_TRACE("p " + std::to_string(p) + " m " + std::to_string(m));
      expect_published_bubble({spec::Schedule::one_f_one_b, p, 1, m});
    }
  }
}

TEST(Bubble, OfTheInterleavedScheduleIsThePublishedFraction) {
  for (const int p : {2, 3, 4, 8}) {
    for (const int v : {2, 3, 5}) {
      for (const int rounds : {1, 2, 5}) {
        SCOPED_TRACE("p " + std::to_string(p) + " v " + std::to_string(v) + " m " + std::to_string(rounds * p));
        expect_published_bubble({spec::Schedule::interleaved, p, v, rounds * p});
      }
    }
  }
}

TEST(Bubble, OfAnInterleavedScheduleWithAnOddLastGroupIsLarger) {
  // check() refuses such jobs; the schedule itself still runs to its end, later than a whole number of groups would.
  for (const int m : {1, 3, 5, 6, 7, 9}) {
    const trace::Trace trace = run({spec::Schedule::interleaved, 4, 2, m});
    EXPECT_GE(trace.length, (2 * m + 3) * (kForward + kBackward)) << m;
  }
}

}  // namespace
