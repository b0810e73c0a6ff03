// tests/sim/engine/carrier_test.cpp -- operators whose flows share links of a network, by SimGrid and by the oracle.
// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/carrier.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "sim/network/simgrid.h"
#include "tests/sim/engine/rig.h"
#include "tests/sim/network/max_min_carrier.h"

namespace {

using rig::op;
using rig::spans;
using rig::Step;
using sim::Load;

constexpr trace::Ticks kMs = 1'000'000'000;

Step crossing(Step step, int number) {
  step.crossing = static_cast<std::int16_t>(number);
  return step;
}

/// Links of 10 GB/s; set k is flow k alone.
sim::Cargo cargo(int links, const std::vector<std::vector<int>>& routes) {
  sim::Cargo out;
  out.fluid.capacities.assign(static_cast<std::size_t>(links), 10e9);
  for (const std::vector<int>& route : routes) {
    out.begin.push_back(out.fluid.flows());
    out.fluid.add(1, route);
  }
  out.begin.push_back(out.fluid.flows());
  return out;
}

void carry(rig::Programs& p, const sim::Cargo& cargo, std::vector<Load> loads, bool by_simgrid) {
  p.in.crossings = static_cast<std::int32_t>(loads.size() / p.in.instances.size());
  p.in.loads = std::move(loads);
  if (by_simgrid) {
    p.in.carrier = std::make_shared<sim::SimGridCarrier>(cargo);
  } else {
    p.in.carrier = std::make_shared<oracle::MaxMinCarrier>(cargo);
  }
}

class Carried : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !sim::has_simgrid()) GTEST_SKIP() << "built without SimGrid";
  }
};
INSTANTIATE_TEST_SUITE_P(By, Carried, testing::Bool(),
                         [](const auto& info) { return info.param ? "SimGrid" : "Oracle"; });

TEST_P(Carried, EndsWithItsFlowsAndTheirTailOrItsDurationWhicheverIsLater) {
  // 80 MB at 10 GB/s: 8 ms, and 1 ms behind. Three operators one after the other, alone 5, 8 and 20 ms: 9 + 9 + 20.
  rig::Programs p({{crossing(op(rig::Stream::dp, 5 * kMs), 0), crossing(op(rig::Stream::dp, 8 * kMs), 0),
                    crossing(op(rig::Stream::dp, 20 * kMs), 0)}});
  carry(p, cargo(1, {{0}}), {{0, 80e6, kMs}}, GetParam());
  const sim::EngineOutput out = sim::run(p.in);
  EXPECT_FALSE(out.deadlocked);
  EXPECT_EQ(spans(out, 0, rig::Stream::dp)[0].end, 9 * kMs);
  EXPECT_EQ(spans(out, 0, rig::Stream::dp)[1].end, 18 * kMs);
  EXPECT_EQ(out.end, 38 * kMs);
}

TEST_P(Carried, OperatorsOfTwoRanksShareALinkWhileTheyOverlap) {
  // 80 and 350 MB over one link: together until the shorter has had its 8 ms at half the rate, at 16 ms; the longer has
  // 27 of its 35 ms left: 43.
  rig::Programs p({{crossing(op(rig::Stream::send_next, 0), 0)}, {crossing(op(rig::Stream::dp, 0), 0)}});
  carry(p, cargo(1, {{0}, {0}}), {{0, 80e6, 0}, {1, 350e6, 0}}, GetParam());
  const sim::EngineOutput out = sim::run(p.in);
  EXPECT_NEAR(spans(out, 0, rig::Stream::send_next)[0].end, 16 * kMs, 100);
  EXPECT_NEAR(spans(out, 1, rig::Stream::dp)[0].end, 43 * kMs, 100);
}

TEST_P(Carried, WhatStartsInMidFlowTakesItsShareFromThen) {
  // The second of 80 MB starts at 4 ms: the first has 4 ms left and takes 8, to 12; then the second has 4 of 8
  // left: 16.
  rig::Programs p({{crossing(op(rig::Stream::dp, 0), 0)},
                   {op(rig::Stream::compute, 4 * kMs),
                    crossing(op(rig::Stream::dp, 0, {plan::event_of(rig::Stream::compute)}), 0)}});
  carry(p, cargo(1, {{0}, {0}}), {{0, 80e6, 0}, {1, 80e6, 0}}, GetParam());
  const sim::EngineOutput out = sim::run(p.in);
  EXPECT_NEAR(spans(out, 0, rig::Stream::dp)[0].end, 12 * kMs, 100);
  EXPECT_NEAR(spans(out, 1, rig::Stream::dp)[0].end, 16 * kMs, 100);
}

TEST_P(Carried, AReceiverEndsWithItsSender) {
  rig::Programs p({{rig::on_channel(crossing(op(rig::Stream::send_next, 0), 0), 0)},
                   {op(rig::Stream::compute, 2 * kMs),
                    rig::on_channel(op(rig::Stream::recv_prev, 0, {plan::event_of(rig::Stream::compute)}), 0)}},
                  1);
  p.meet(0, {0, 1});
  carry(p, cargo(1, {{0}}), {{0, 80e6, 0}, {}}, GetParam());
  EXPECT_EQ(spans(sim::run(p.in), 1, rig::Stream::recv_prev)[0].end, 10 * kMs);
}

TEST_P(Carried, AKernelBesideItSlowsItsDurationButNotTheNetwork) {
  // Alone 10 ms of which the flow takes 8; under a kernel of 30 ms everything of the rank's own takes 1.5 times: 15.
  // With a flow of 40 ms that rules, nothing is added: 40.
  for (const double bytes : {80e6, 400e6}) {
    Step collective = crossing(rig::holding(op(rig::Stream::dp, 10 * kMs), sim::resource::kCommunication), 0);
    rig::Programs p({{rig::holding(op(rig::Stream::compute, 30 * kMs), sim::resource::kCompute), collective}});
    p.in.communication_slowdown = 1.5;
    carry(p, cargo(1, {{0}}), {{0, bytes, 0}}, GetParam());
    EXPECT_EQ(spans(sim::run(p.in), 0, rig::Stream::dp)[0].end, (bytes == 80e6 ? 15 : 40) * kMs);
  }
}

TEST_P(Carried, WhatWaitsForItsFlowsStillHindersKernels) {
  // A kernel of 30 ms beside a collective whose flow takes 20: 20 ms at half the pace, then 20 more.
  Step collective = crossing(rig::holding(op(rig::Stream::dp, kMs), sim::resource::kCommunication), 0);
  rig::Programs p({{rig::holding(op(rig::Stream::compute, 30 * kMs), sim::resource::kCompute), collective}});
  p.in.compute_slowdown = 2;
  carry(p, cargo(1, {{0}}), {{0, 200e6, 0}}, GetParam());
  EXPECT_EQ(spans(sim::run(p.in), 0, rig::Stream::compute)[0].end, 40 * kMs);
}

/// Three ranks with a program of kernels and loads each, over six links.
struct RandomCase {
  explicit RandomCase(unsigned seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
    cargo.fluid.capacities.resize(6);
    for (double& c : cargo.fluid.capacities) c = 1e9 * (1 + below(10));
    for (int set = 0; set < 9; ++set) {
      cargo.begin.push_back(cargo.fluid.flows());
      for (int flows = 1 + below(3); flows > 0; --flows) {
        std::vector<int> route;
        for (int l = 0; l < 6; ++l) {
          if (below(3) == 0) route.push_back(l);
        }
        if (route.empty()) route.push_back(below(6));
        cargo.fluid.add(0.5 + 0.1 * below(10), route);
      }
    }
    cargo.begin.push_back(cargo.fluid.flows());
    for (int instance = 0; instance < 3; ++instance) {
      std::vector<Step> steps;
      for (int n = 0; n < 12; ++n) {
        const rig::Stream streams[] = {rig::Stream::compute, rig::Stream::dp, rig::Stream::send_next};
        const int stream = below(3);
        steps.push_back(op(streams[stream], below(5000) * kMs / 1000));
        if (stream > 0) steps.back().crossing = static_cast<std::int16_t>(below(3));
        if (below(3) == 0) steps.back().waits[0] = plan::event_of(streams[below(3)]);
      }
      programs.push_back(steps);
      for (int l = 0; l < 3; ++l) loads.push_back({3 * instance + l, 1e6 * (1 + below(30)), below(300) * kMs / 1000});
    }
  }
  sim::EngineOutput run(bool by_simgrid) const {
    rig::Programs p(programs);
    carry(p, cargo, loads, by_simgrid);
    return sim::run(p.in);
  }
  sim::Cargo cargo;
  std::vector<std::vector<Step>> programs;
  std::vector<Load> loads;
};

TEST(Coupling, RandomProgramsOnSimGridAgreeWithTheOracle) {
  if (!sim::has_simgrid()) GTEST_SKIP() << "built without SimGrid";
  for (unsigned seed = 0; seed < 300; ++seed) {
    const RandomCase one(seed);
    const sim::EngineOutput ours = one.run(true), plain = one.run(false);
    ASSERT_FALSE(ours.deadlocked) << seed;
    ASSERT_EQ(ours.completed, 36) << seed;
    ASSERT_EQ(plain.completed, 36) << seed;
    for (std::size_t s = 0; s < ours.spans.size(); ++s) {
      ASSERT_EQ(ours.spans[s].size(), plain.spans[s].size()) << seed;
      for (std::size_t i = 0; i < ours.spans[s].size(); ++i) {
        const auto end = static_cast<double>(plain.spans[s][i].end);
        ASSERT_NEAR(static_cast<double>(ours.spans[s][i].end), end, 1e-5 * end) << seed << " stream " << s << " " << i;
      }
    }
  }
}

TEST(Coupling, TheSameProgramsRunAlikeToThePicosecondWhateverRanBefore) {
  if (!sim::has_simgrid()) GTEST_SKIP() << "built without SimGrid";
  const auto ends = [](unsigned seed) {
    std::vector<trace::Ticks> out;
    for (const std::vector<trace::Span>& stream : RandomCase(seed).run(true).spans) {
      for (const trace::Span& span : stream) out.push_back(span.end);
    }
    return out;
  };
  for (unsigned seed = 0; seed < 50; ++seed) {
    const std::vector<trace::Ticks> first = ends(seed);
    RandomCase(seed + 1000).run(true);
    ASSERT_EQ(ends(seed), first) << seed;
  }
}

}  // namespace
