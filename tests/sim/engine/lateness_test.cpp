// tests/sim/engine/lateness_test.cpp -- waits for the latest rank by hand, and against a walk through all calls.
// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/lateness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "core/base/normal.h"
#include "tests/sim/engine/rig.h"

namespace {

using plan::Stream;
using trace::Ticks;

constexpr double kOfTwo = 0.5641895835;  // 1 / sqrt(pi): the expected maximum of two standard normals

sim::Step kernel(Ticks duration) { return rig::holding(rig::op(Stream::compute, duration), sim::resource::kCompute); }

sim::Step collective(Stream stream, int members) {
  sim::Step step = rig::holding(rig::op(stream, 1'000'000), sim::resource::kCommunication);
  step.members = members;
  return step;
}

/// Segments of steps and one role's calls of them.
struct Program {
  std::vector<std::vector<sim::Step>> segments;
  std::vector<int> calls;

  /// Step::wait of each step, segment after segment.
  std::vector<Ticks> lateness(double jitter) const {
    plan::Plan plan;
    sim::EngineInput in;
    for (const std::vector<sim::Step>& segment : segments) {
      plan.segments.emplace_back().operators.resize(segment.size());
      in.steps.insert(in.steps.end(), segment.begin(), segment.end());
    }
    plan::Role& role = plan.roles.emplace_back();
    for (const int call : calls) role.calls.emplace_back().segment = call;
    in.plan = &plan;
    in.kernel_jitter = jitter;
    sim::wait_for_the_latest(in);
    std::vector<Ticks> out;
    for (const sim::Step& step : in.steps) out.push_back(step.wait);
    return out;
  }
};

TEST(Lateness, ACollectiveWaitsForTheLatestOfItsRanks) {
  // Kernels of 3 and 4 ms vary together by 5 ms times the jitter of 2 %: 100 us, of which the later of two ranks is
  // 0.5642 behind on average.
  const Program p{{{kernel(3'000'000'000), kernel(4'000'000'000), collective(Stream::tp, 2)}}, {0}};
  const std::vector<Ticks> late = p.lateness(0.02);
  EXPECT_EQ(late[0], 0);
  EXPECT_EQ(late[1], 0);
  EXPECT_NEAR(static_cast<double>(late[2]), 100e6 * kOfTwo, 10);
}

TEST(Lateness, WithoutJitterOrOtherRanksNothingWaits) {
  const Program p{{{kernel(3'000'000'000), collective(Stream::tp, 2)}}, {0}};
  EXPECT_EQ(p.lateness(0), (std::vector<Ticks>{0, 0}));
  const Program alone{{{kernel(3'000'000'000), collective(Stream::tp, 1)}}, {0}};
  EXPECT_EQ(alone.lateness(0.02), (std::vector<Ticks>{0, 0}));
}

TEST(Lateness, RanksAreTogetherBehindACollectiveOfTheSameStreamAlone) {
  // 3 ms, tensor parallel, 4 ms, tensor parallel, then data parallel: the latter's ranks have not met before, so 5 ms
  // stand behind it.
  const Program p{{{kernel(3'000'000'000), collective(Stream::tp, 2), kernel(4'000'000'000), collective(Stream::tp, 2),
                    collective(Stream::dp, 2)}},
                  {0}};
  const std::vector<Ticks> late = p.lateness(0.02);
  EXPECT_NEAR(static_cast<double>(late[1]), 60e6 * kOfTwo, 10);
  EXPECT_NEAR(static_cast<double>(late[3]), 80e6 * kOfTwo, 10);
  EXPECT_NEAR(static_cast<double>(late[4]), 100e6 * kOfTwo, 10);
}

TEST(Lateness, ASegmentsFirstCollectiveHasTheMeanOfItsCalls) {
  // Called behind 4 ms and behind nothing but its own 3 ms: 5 and 3 ms, 4 on average.
  const Program p{{{kernel(4'000'000'000)}, {kernel(3'000'000'000), collective(Stream::tp, 2)}}, {0, 1, 1}};
  EXPECT_NEAR(static_cast<double>(p.lateness(0.02)[2]), 80e6 * kOfTwo, 10);
}

TEST(Lateness, AHopWaitsForOneNeighbourWhateverTheRing) {
  sim::Step hop = collective(Stream::tp, 8);
  hop.hops = true;
  const Program p{{{kernel(5'000'000'000), hop}}, {0}};
  EXPECT_NEAR(static_cast<double>(p.lateness(0.02)[1]), 100e6 * kOfTwo, 10);
}

/// The slow way: every call, step by step.
std::vector<double> walk(const Program& p, double jitter) {
  std::vector<std::size_t> begin{0};
  for (const auto& segment : p.segments) begin.push_back(begin.back() + segment.size());
  std::vector<double> sum(begin.back()), times(begin.back());
  std::map<int, double> squares;  // by stream, since its latest collective
  double all = 0;                 // since the step began
  for (const int call : p.calls) {
    for (std::size_t i = 0; i < p.segments[call].size(); ++i) {
      const sim::Step& step = p.segments[call][i];
      if (step.resources == sim::resource::kCompute) {
        all += std::pow(static_cast<double>(step.duration), 2);
      } else if (step.members > 1) {
        sum[begin[call] + i] += jitter * base::expected_maximum(step.members) * std::sqrt(all - squares[step.stream]);
        squares[step.stream] = all;
        times[begin[call] + i] += 1;
      }
    }
  }
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = times[i] > 0 ? sum[i] / times[i] : 0;
  return sum;
}

TEST(Lateness, RandomProgramsWaitAsAWalkThroughAllCallsSays) {
  std::mt19937 random(5);
  const auto draw = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  for (int round = 0; round < 200; ++round) {
    Program p;
    for (int s = 0, n = 1 + draw(5); s < n; ++s) {
      std::vector<sim::Step>& segment = p.segments.emplace_back();
      for (int i = 0, steps = 1 + draw(8); i < steps; ++i) {
        const Stream stream = draw(2) == 0 ? Stream::tp : Stream::dp;
        segment.push_back(draw(3) > 0 ? kernel(1'000'000 * (1 + draw(100))) : collective(stream, 1 + draw(9)));
      }
    }
    for (int c = 0, n = 1 + draw(12); c < n; ++c) p.calls.push_back(draw(static_cast<int>(p.segments.size())));
    const std::vector<Ticks> late = p.lateness(0.03);
    const std::vector<double> slow = walk(p, 0.03);
    std::vector<bool> called;
    for (std::size_t s = 0; s < p.segments.size(); ++s) {
      const bool is = std::find(p.calls.begin(), p.calls.end(), static_cast<int>(s)) != p.calls.end();
      called.insert(called.end(), p.segments[s].size(), is);
    }
    for (std::size_t i = 0; i < late.size(); ++i) {
      if (!called[i]) continue;
      EXPECT_NEAR(static_cast<double>(late[i]), slow[i], 2 + 1e-9 * slow[i]) << "round " << round;
    }
  }
}

}  // namespace
