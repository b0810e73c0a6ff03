// tests/sim/pricing/flatten_test.cpp -- what a Plan becomes for the engine, and what the engine's spans become in a
// Trace. SPDX-License-Identifier: Apache-2.0
#include "sim/pricing/flatten.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "core/base/fault.h"
#include "core/plan/build.h"
#include "core/plan/builder.h"
#include "sim/pricing/prices.h"
#include "tests/support/toy.h"

namespace {

using plan::Channel;
using plan::Collective;
using plan::CollectiveKind;
using plan::Stream;

struct Flat {
  plan::Plan plan;
  spec::Job job;
  sim::EngineInput in;
  explicit Flat(spec::Job j) : plan(plan::build(j)), job(std::move(j)) {
    in = sim::flatten(plan, sim::prices_of(plan, job.cluster), job);
  }
  Flat(const Flat&) = delete;
};

TEST(Flatten, SecondsRoundToTheNearestPicosecond) {
  EXPECT_EQ(sim::to_ticks(base::us(1)), 1'000'000);
  EXPECT_EQ(sim::to_ticks(base::Seconds(1.4e-12)), 1);
  EXPECT_EQ(sim::to_ticks(base::Seconds(1.6e-12)), 2);
}

TEST(Flatten, FoldedHasOneInstanceAStageAndUnfoldedOneARank) {
  const toy::Cut cut{.tp = 2, .pp = 4, .dp = 3, .microbatches = 4};
  EXPECT_EQ(Flat(toy::job(cut)).in.instances.size(), 4u);
  const Flat unfolded(toy::job(cut, [](spec::Job& j) { j.simulation.unfold = true; }));
  ASSERT_EQ(unfolded.in.instances.size(), 24u);
  std::set<int> ranks;
  for (const sim::Instance& instance : unfolded.in.instances) ranks.insert(instance.rank);
  EXPECT_EQ(ranks.size(), 24u);
  EXPECT_EQ(*ranks.rbegin(), 23);
}

TEST(Flatten, ASlowRankUnfoldsTheJobAndIsRecorded) {
  const Flat flat(toy::job({.tp = 2, .dp = 2, .microbatches = 1}, [](spec::Job& j) {
    j.simulation.slow_ranks = {{3, 1.5}};
  }));
  ASSERT_EQ(flat.in.instances.size(), 4u);
  EXPECT_FALSE(flat.in.folded);
  EXPECT_EQ(flat.in.instances[3].compute_factor, 1.5);
  EXPECT_TRUE(flat.in.instances[3].recorded);
  EXPECT_EQ(flat.in.instances[2].compute_factor, 1);
  EXPECT_FALSE(flat.in.instances[2].recorded);
}

TEST(Flatten, ASlowLinkSlowsTheRanksOfItsNode) {
  // 16 ranks are two nodes of 8. Rank by rank, those of node 1 take the second variant of the steps; folded, the one
  // instance of the stage takes the slower of both.
  const auto input = [](bool unfold, const plan::Plan& plan, const spec::Job& job) {
    spec::Job other = job;
    other.simulation.unfold = unfold;
    return sim::priced(plan, other);
  };
  const spec::Job job = toy::job({.tp = 2, .dp = 8, .microbatches = 1},
                                 [](spec::Job& j) { j.simulation.slow_links = {{.node = 1, .factor = 2}}; });
  const plan::Plan plan = plan::build(job);
  for (const sim::Instance& instance : input(true, plan, job).instances) {
    EXPECT_EQ(instance.variant, instance.rank >= 8 ? 1 : 0) << instance.rank;
  }
  const sim::EngineInput folded = input(false, plan, job);
  ASSERT_EQ(folded.instances.size(), 1u);
  EXPECT_TRUE(folded.folded);
}

TEST(Flatten, ChannelsJoinTheRanksThatTheirAxesName) {
  const Flat flat(toy::job({.tp = 2, .pp = 2, .dp = 3, .zero = 1, .microbatches = 2}, [](spec::Job& j) {
    j.simulation.unfold = true;
    j.model.tied_embeddings = true;
  }));
  std::map<int, std::set<int>> members;  // of each meeting
  std::map<int, std::size_t> channel_of;
  for (std::size_t i = 0; i < flat.in.instances.size(); ++i) {
    for (std::size_t c = 0; c < flat.plan.channels.size(); ++c) {
      const int meeting = flat.in.meeting_of[i * flat.plan.channels.size() + c];
      if (meeting < 0) continue;
      members[meeting].insert(flat.in.instances[i].rank);
      channel_of[meeting] = c;
    }
  }
  // Rank = tensor + 2 data + 6 stage.
  std::map<Channel::Kind, int> seen;
  for (const auto& [meeting, ranks] : members) {
    const Channel& channel = flat.plan.channels[channel_of[meeting]];
    const int first = *ranks.begin();
    ++seen[channel.kind];
    EXPECT_EQ(flat.in.meeting_size[meeting], static_cast<int>(ranks.size()));
    if (channel.kind == Channel::Kind::model) {
      EXPECT_EQ(ranks.size(), 12u);
    } else if (channel.kind == Channel::Kind::group && channel.axis == plan::Axis::tp) {
      EXPECT_EQ(ranks, (std::set<int>{first, first + 1}));
    } else if (channel.kind == Channel::Kind::group) {
      EXPECT_EQ(ranks, (std::set<int>{first, first + 2, first + 4}));
    } else {
      EXPECT_EQ(ranks, (std::set<int>{first, first + 6}));  // pipeline edges, tied embeddings
    }
  }
  EXPECT_EQ(seen[Channel::Kind::model], 1);
  EXPECT_EQ(seen[Channel::Kind::group], 6 + 4);  // tensor: 6 pairs; data: 2 tensor ranks x 2 stages
  EXPECT_EQ(seen[Channel::Kind::forward_edge], 6);
  EXPECT_EQ(seen[Channel::Kind::backward_edge], 6);
  EXPECT_EQ(seen[Channel::Kind::embedding], 6);
}

/// A segment with one operator of each kind, flattened under a framework that the test may change.
std::vector<sim::Step> steps_of(spec::Job job) {
  plan::Plan plan;
  plan::Pool pool(plan);
  plan::SegmentBuilder out(pool, "all");
  out.phase = plan::Phase::forward;
  out.compute(plan::MemoryBound{.read = 1}, "forward kernel", 3);
  out.phase = plan::Phase::backward;
  out.compute(plan::MemoryBound{.read = 1}, "backward kernel", 2);
  const std::int16_t dp = pool.channel({Channel::Kind::group, plan::Axis::dp});
  out.communicate(Collective{CollectiveKind::all_reduce, 8, {8, 8, 1, 1}}, "inside", Stream::tp, dp, {});
  out.communicate(Collective{CollectiveKind::all_reduce, 8, {16, 8, 2, 1}}, "both", Stream::dp, dp, {});
  out.communicate(Collective{CollectiveKind::all_reduce, 8, {4, 1, 4, 1}}, "between", Stream::tp, dp, {});
  out.communicate(plan::Transfer{.bytes = 1, .crosses_domain = true}, "send", Stream::send_next, dp, {});
  out.communicate(plan::Transfer{.bytes = 1, .crosses_domain = true}, "receive", Stream::recv_prev, dp, {});
  out.communicate(plan::Transfer{.bytes = 1}, "near", Stream::send_prev, dp, {});
  out.compute(plan::HostSync{}, "sync", 0);
  plan.segments.push_back(out.finish());
  plan.roles.push_back({});
  plan.roles[0].calls = {{0, 0, 0}};
  return sim::flatten(plan, std::vector<base::Seconds>(plan.works.size(), base::us(1)), job).steps;
}

TEST(Flatten, AnOperatorHoldsTheLinksThatItUses) {
  using namespace sim::resource;
  const std::vector<sim::Step> steps = steps_of(toy::job({.dp = 2}));
  ASSERT_EQ(steps.size(), 9u);
  EXPECT_EQ(steps[0].resources, sim::resource::kCompute);
  EXPECT_EQ(steps[2].resources, kCommunication | kNvlinkIn | kNvlinkOut);
  EXPECT_EQ(steps[3].resources, kCommunication | kNvlinkIn | kNvlinkOut | kNicIn | kNicOut);
  EXPECT_EQ(steps[4].resources, kCommunication | kNicIn | kNicOut);
  EXPECT_EQ(steps[5].resources, kNicOut);  // the few SMs of a hop over the network slow nobody
  EXPECT_EQ(steps[6].resources, kNicIn);
  EXPECT_EQ(steps[7].resources, kCommunication | kNvlinkOut);
  EXPECT_EQ(steps[8].resources, 0);
  EXPECT_TRUE(steps[8].synchronizes);
  EXPECT_EQ(steps[3].members, 16);
}

TEST(Flatten, HopsByCopyEnginesTakeNoSm) {
  using namespace sim::resource;
  for (const bool copy_engine : {false, true}) {
    plan::Plan plan;
    plan::Pool pool(plan);
    plan::SegmentBuilder out(pool, "hop");
    const std::int16_t tp = pool.channel({Channel::Kind::group, plan::Axis::tp});
    Collective hop{CollectiveKind::shift, 8, {8, 8, 1, 1}};
    hop.copy_engine = copy_engine;
    out.communicate(hop, "hop", Stream::tp, tp, {});
    plan.segments.push_back(out.finish());
    plan.roles.emplace_back().calls = {{0, 0, 0}};
    const std::vector<sim::Step> steps = sim::flatten(plan, {base::us(1)}, toy::job()).steps;
    EXPECT_EQ(steps.at(0).resources, kNvlinkIn | kNvlinkOut | (copy_engine ? 0 : kCommunication));
    EXPECT_TRUE(steps.at(0).hops);
    EXPECT_EQ(steps.at(0).members, 8);
  }
}

TEST(Flatten, CollectivesWaitAsTheCalibrationSaysAndDeviationsAddByTheirSquares) {
  // Two kernels of 1 us ahead of an all-reduce of 8: sqrt(2) us times 1.4236, the expected maximum of eight, times
  // 0.04.
  spec::Job job = toy::job();
  job.cluster.node.calibration.power.jitter = 0.04;
  EXPECT_NEAR(static_cast<double>(steps_of(job)[2].wait), 1e6 * 0.04 * 1.42360031 * std::sqrt(2), 1);
  EXPECT_EQ(steps_of(job)[0].wait, 0);
  EXPECT_EQ(steps_of(job)[5].wait, 0);  // a transfer
  // With 0.03 that the Job asks for on top 0.05 together. Ranks that run by themselves draw the 0.03: 0.02 are left.
  job.simulation.jitter = 0.03;
  EXPECT_NEAR(static_cast<double>(steps_of(job)[2].wait), 1e6 * 0.05 * 1.42360031 * std::sqrt(2), 1);
  job.simulation.unfold = true;
  EXPECT_NEAR(static_cast<double>(steps_of(job)[2].wait), 1e6 * 0.02 * 1.42360031 * std::sqrt(2), 1);
}

TEST(Flatten, TheHostPaysByLaunchAndByPhase) {
  spec::Job job = toy::job();
  job.framework.launch = base::us(5);
  job.framework.backward_launch = base::us(4);
  job.framework.collective_launch = base::us(15);
  job.framework.compiled_launch = base::us(3);
  EXPECT_EQ(steps_of(job)[0].host, 15'000'000);  // 3 launches of 5 us
  EXPECT_EQ(steps_of(job)[1].host, 8'000'000);   // 2 of 4 us
  EXPECT_EQ(steps_of(job)[2].host, 15'000'000);
  EXPECT_EQ(steps_of(job)[8].host, 0);
  job.strategy.compile = true;
  EXPECT_EQ(steps_of(job)[0].host, 9'000'000);
  EXPECT_EQ(steps_of(job)[1].host, 6'000'000);
  EXPECT_EQ(steps_of(job)[2].host, 15'000'000);  // collectives stay eager
  job.strategy.cuda_graphs = spec::CudaGraphs::whole;
  for (const sim::Step& step : steps_of(job)) EXPECT_EQ(step.host, 0);
}

TEST(Flatten, AHostMayTakeSecondsForOneOperator) {
  spec::Job job = toy::job();
  job.framework.launch = base::Seconds(1);
  EXPECT_EQ(steps_of(job)[0].host, 3'000'000'000'000);  // 3 launches
}

TEST(Flatten, AStepThatCouldOutlastTheClockIsRefused) {
  // N operators of t each: at worst one after the other, N t. The clock ends before 2^59 ps.
  spec::Job job = toy::job({.pp = 2, .microbatches = 4});
  job.strategy.cuda_graphs = spec::CudaGraphs::whole;  // no host time
  const plan::Plan plan = plan::build(job);
  const double limit = std::ldexp(1.0, 59) / trace::kTicksPerSecond / static_cast<double>(plan.operators());
  const std::vector<base::Seconds> within(plan.works.size(), base::Seconds(limit * 0.999999));
  const sim::EngineOutput out = sim::run(sim::flatten(plan, within, job));
  EXPECT_FALSE(out.deadlocked);
  EXPECT_GT(out.end, 0);
  EXPECT_LT(out.end, sim::kHorizon);
  const std::vector<base::Seconds> beyond(plan.works.size(), base::Seconds(limit * 1.000001));
  EXPECT_THROW(sim::flatten(plan, beyond, job), base::InputError);
  job.simulation.slow_ranks = {{1, 2.0}};
  EXPECT_THROW(sim::flatten(plan, within, job), base::InputError);
}

TEST(Flatten, AFrameworkMayWaitForEachReduction) {
  spec::Job job = toy::job();
  EXPECT_FALSE(steps_of(job)[3].synchronizes);
  job.framework.synchronizes_each_reduce = true;
  EXPECT_TRUE(steps_of(job)[3].synchronizes);
  EXPECT_FALSE(steps_of(job)[2].synchronizes);  // of another stream
}

// All works take 1 s, and the host 1 ms to launch one: what the step launches runs behind one another.
TEST(Flatten, BlockingLaunchesPutEverythingBehindOneAnother) {
  const spec::Job job = toy::job({.microbatches = 2}, [](spec::Job& j) { j.strategy.launch_blocking = true; });
  const plan::Plan plan = plan::build(job);
  const sim::EngineInput in = sim::flatten(plan, std::vector<base::Seconds>(plan.works.size(), base::Seconds(1)), job);
  trace::Ticks sum = in.host_start;
  for (const plan::Call& call : plan.roles[0].calls) {
    const std::int32_t* const segments = in.segments_of(0);
    for (std::int32_t s = segments[call.segment]; s < segments[call.segment + 1]; ++s)
      sum += in.steps[s].duration + in.steps[s].host;
  }
  EXPECT_GT(sum, sim::to_ticks(base::Seconds(10)));
  EXPECT_EQ(sim::run(in).end, sum);
}

// In a pipeline both hosts would wait for one another if a send held its own: what reads it waits.
TEST(Flatten, BlockingLaunchesDoNotHoldTheHostOfTransfers) {
  const Flat flat(
      toy::job({.tp = 2, .pp = 2, .microbatches = 3}, [](spec::Job& j) { j.strategy.launch_blocking = true; }));
  std::size_t step = 0;
  for (const plan::Segment& segment : flat.plan.segments) {
    for (const plan::Operator& op : segment.operators) {
      const bool transfer = std::holds_alternative<plan::Transfer>(flat.plan.works[op.work]);
      EXPECT_NE(flat.in.steps[step++].synchronizes, transfer);
    }
  }
  EXPECT_FALSE(sim::run(flat.in).deadlocked);
}

TEST(Flatten, TheTraceTellsEveryOperatorByItsName) {
  const Flat flat(toy::job({.tp = 2, .pp = 2, .microbatches = 3}));
  const trace::Trace trace = sim::to_trace(flat.plan, flat.in, sim::run(flat.in));
  ASSERT_EQ(trace.tracks.size(), 2u * plan::kStreams);
  std::size_t spans = 0;
  for (std::size_t r = 0; r < flat.plan.roles.size(); ++r) {
    std::array<std::size_t, plan::kStreams> next{};
    for (const plan::Call& call : flat.plan.roles[r].calls) {
      for (const plan::Operator& op : flat.plan.segments[call.segment].operators) {
        const auto stream = static_cast<std::size_t>(op.stream);
        const trace::Track& track = trace.tracks[r * plan::kStreams + stream];
        ASSERT_LT(next[stream], track.spans.size());
        const trace::Span& span = track.spans[next[stream]++];
        ASSERT_EQ(trace.names[span.name], flat.plan.names[op.name]);
        ASSERT_EQ(span.work, op.work);
        ASSERT_EQ(span.layer, op.layer);
        ASSERT_EQ(span.channel, op.channel);
        ASSERT_EQ(span.microbatch, call.microbatch);
        ASSERT_EQ(span.chunk, call.chunk);
        ASSERT_EQ(span.phase, static_cast<int>(op.phase));
        ASSERT_LE(span.ready, span.start);
        ASSERT_LE(span.start, span.end);
        ++spans;
      }
    }
  }
  EXPECT_EQ(spans, static_cast<std::size_t>(flat.plan.operators()));
  EXPECT_EQ(trace.tracks[plan::kStreams].stage, 1);
  EXPECT_EQ(trace.tracks[plan::kStreams].rank, 2);
  EXPECT_EQ(trace.tracks[1].stream, "tp");
}

}  // namespace
