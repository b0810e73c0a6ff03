// tests/real/measure/instances_test.cpp -- tests real/measure/instances.h: what is recorded has the tags that the
// simulator gives the same step. SPDX-License-Identifier: Apache-2.0
#include "real/measure/instances.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "core/plan/build.h"
#include "sim/predict.h"
#include "tests/real/executor/tiny.h"

namespace {

auto tags(const trace::Span& s) {
  return std::tuple(s.name, s.microbatch, s.layer, s.chunk, s.phase, s.work, s.channel);
}

TEST(Instances, EveryOperatorHasTheSimulatorsTagsOnItsStreamInItsOrder) {
  const spec::Job job = toy::resolved(tiny::draft(tiny::llama(4), {.tp = 2, .pp = 2}));
  const plan::Plan plan = plan::build(job);
  const trace::Trace simulated = sim::predict(job).trace;
  for (std::size_t role = 0; role < plan.roles.size(); ++role) {
    std::vector<std::vector<trace::Span>> by_stream(plan::kStreams);
    for (const real::Launched& one : real::instances_of(plan, plan.roles[role]))
      by_stream[one.track].push_back(one.what);
    for (std::size_t s = 0; s < plan::kStreams; ++s) {
      const auto& spans = simulated.tracks[role * plan::kStreams + s].spans;
      ASSERT_EQ(by_stream[s].size(), spans.size()) << plan::kStreamNames[s];
      for (std::size_t i = 0; i < spans.size(); ++i) EXPECT_EQ(tags(by_stream[s][i]), tags(spans[i]));
    }
  }
}

TEST(Instances, TheFrameNamesThingsAsTheSimulatorDoes) {
  const spec::Job job = toy::resolved(tiny::draft(tiny::llama(4), {.tp = 2, .pp = 2}));
  const plan::Plan plan = plan::build(job);
  const trace::Trace frame = real::frame_of(plan, 3, 1), simulated = sim::predict(job).trace;
  EXPECT_EQ(frame.names, simulated.names);
  EXPECT_EQ(frame.phases, simulated.phases);
  EXPECT_EQ(frame.channels, simulated.channels);
  ASSERT_EQ(frame.tracks.size(), static_cast<std::size_t>(plan::kStreams));
  EXPECT_EQ(frame.tracks[1].stream, simulated.tracks[1].stream);
  EXPECT_EQ(frame.tracks[1].rank, 3);
}

TEST(Instances, WhatBelongsToNoOperatorGoesAndWhatNobodyOwnsStays) {
  real::Records records;
  for (const std::uint32_t correlation : {10u, 11u, 12u}) records.device.emplace_back().correlation = correlation;
  records.owners = {{10, real::kOutsideOperators}, {11, 5}};
  const real::Records kept = real::without_outsiders(records);
  ASSERT_EQ(kept.device.size(), 2u);
  EXPECT_EQ(kept.device[0].correlation, 11u);
  EXPECT_EQ(kept.device[1].correlation, 12u);  // an orphan, which makes the run void
  ASSERT_EQ(kept.owners.size(), 1u);
  EXPECT_EQ(kept.owners[0].owner, 5u);
}

}  // namespace
