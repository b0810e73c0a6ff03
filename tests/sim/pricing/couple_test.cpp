// tests/sim/pricing/couple_test.cpp -- operators of different axes that meet on links of a fabric (fidelity coupled):
// cases worked out by hand, and laws on random jobs. SPDX-License-Identifier: Apache-2.0
#include "sim/pricing/couple.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "core/plan/build.h"
#include "core/plan/group_shape.h"
#include "sim/explain.h"
#include "sim/network/cargo.h"
#include "sim/network/simgrid.h"
#include "sim/predict.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"
#include "tests/sim/network/max_min_carrier.h"
#include "tests/sim/random_jobs.h"

namespace {

using Kind = spec::Fabric::Kind;

/// 64 nodes of 8 GPUs with a card of 10 GB/s each, leaves of 8 nodes.
spec::Job job_on_tree(double oversubscription) {
  spec::Job job = toy::job();
  job.cluster = toy::cluster(512);
  job.cluster.fabric.kind = Kind::fat_tree;
  job.cluster.fabric.leaf_nodes = 8;
  job.cluster.fabric.oversubscription = oversubscription;
  job.network.fidelity = spec::Fidelity::coupled;
  return job;
}

/// Ranks 0 to `ranks` - 1, which run the first segment once.
plan::Role one_call(int ranks) {
  plan::Role role;
  role.ranks = ranks;
  role.calls = {{0, 0, 0}};
  return role;
}

/// 8 stages, one operator or two each. Stage: 64 ranks in order, tp of 8 inside nodes, dp of 8 across the nodes.
class Pipeline {
 public:
  Pipeline() {
    plan_.axes.ranks = 64;
    plan_.axes.stages = plan_.pp = 8;
    plan_.axes.shapes[static_cast<int>(plan::Axis::dp)] = {8, 8};
  }
  std::int32_t work(plan::Work work) {
    plan_.works.push_back(work);
    return static_cast<std::int32_t>(plan_.works.size()) - 1;
  }
  std::int16_t channel(plan::Channel channel) {
    plan_.channels.push_back(channel);
    return static_cast<std::int16_t>(plan_.channels.size() - 1);
  }
  void stage(std::vector<plan::Operator> operators) {
    plan::Role role;
    role.stage = static_cast<int>(plan_.roles.size());
    role.first_rank = 64 * role.stage;
    role.ranks = 64;
    role.calls = {{static_cast<std::int32_t>(plan_.segments.size()), 0, 0}};
    plan_.names = {"operator"};
    plan_.segments.emplace_back().operators = std::move(operators);
    plan_.roles.push_back(role);
  }
  trace::Trace run(const spec::Job& job) const { return sim::simulate(plan_, sim::priced(plan_, job)); }

 private:
  plan::Plan plan_;
};

plan::Operator operator_on(plan::Stream stream, std::int32_t work, std::int16_t channel) {
  plan::Operator op;
  op.stream = stream;
  op.work = work;
  op.channel = channel;
  return op;
}

/// Milliseconds at which the one span of that stage and stream ends.
double end_of(const trace::Trace& trace, int stage, plan::Stream stream) {
  const trace::Track& track = trace.tracks[static_cast<std::size_t>(stage * plan::kStreams) + static_cast<int>(stream)];
  EXPECT_EQ(track.spans.size(), 1U);
  return trace::seconds(track.spans.at(0).end) * 1e3;
}

class Coupled : public testing::Test {
 protected:
  void SetUp() override {
    if (!sim::has_simgrid()) GTEST_SKIP() << "built without SimGrid";
  }
  static double step(spec::Job job, spec::Fidelity fidelity) {
    job.network.fidelity = fidelity;
    return sim::predict(job).prediction.step_time_s;
  }
};

TEST_F(Coupled, TransfersBetweenStagesShareCardsWithDataParallelRings) {
  // Rings of 8 nodes inside a leaf gather 400 MB: 7/8 of it over a card of 10 GB/s, 35 ms alone. Beside them each rank
  // sends 80 MB to the next stage, one leaf on: 8 ms alone.
  //   1:1   both at half the rate until 16 ms; the ring has 27 of its 35 ms left: 43
  //   4:1   64 cards of a leaf share uplinks of 16: the transfer has a quarter of its card for 32 ms, the ring three:
  //         24 of its 35 ms are done at 32, and 43 is its end again
  for (const double oversubscription : {1.0, 4.0}) {
    spec::Job job = job_on_tree(oversubscription);
    Pipeline pipe;
    const std::int32_t ring = pipe.work(
        plan::Collective{plan::CollectiveKind::all_gather, 400'000'000, plan::group_shape(8, 8, job.cluster, 512)});
    plan::Transfer hop = plan::stage_hop(64, job.cluster, 512);
    hop.bytes = 80'000'000;
    const std::int32_t transfer = pipe.work(hop);
    const std::int16_t dp = pipe.channel({plan::Channel::Kind::group, plan::Axis::dp});
    std::vector<std::int16_t> edges;
    for (int s = 0; s < 7; ++s) edges.push_back(pipe.channel({plan::Channel::Kind::forward_edge, {}, s, s + 1}));
    for (int s = 0; s < 8; ++s) {
      std::vector<plan::Operator> operators{operator_on(plan::Stream::dp, ring, dp)};
      if (s < 7) operators.push_back(operator_on(plan::Stream::send_next, transfer, edges[s]));
      if (s > 0) operators.push_back(operator_on(plan::Stream::recv_prev, transfer, edges[s - 1]));
      pipe.stage(operators);
    }
    const trace::Trace trace = pipe.run(job);
    for (int s = 0; s < 8; ++s) {
      EXPECT_NEAR(end_of(trace, s, plan::Stream::dp), 43, 1e-4) << s;
      const plan::Stream end = s < 7 ? plan::Stream::send_next : plan::Stream::recv_prev;
      EXPECT_NEAR(end_of(trace, s, end), oversubscription == 1 ? 16 : 32, 1e-4) << s;
    }
  }
}

TEST_F(Coupled, RingsWhoseEveryHopCrossesTheSpinePayTheOversubscription) {
  // One stage, dp of 8 over every 8th node: one leaf on at each hop. 64 cards of a leaf send into uplinks of 64 / o: o
  // times 35 ms.
  for (const double o : {1.0, 2.0, 4.0, 16.0}) {
    const spec::Job job = job_on_tree(o);
    plan::Plan plan;
    plan.axes.ranks = 512;
    plan.axes.shapes[static_cast<int>(plan::Axis::dp)] = {64, 8};
    plan.works = {
        plan::Collective{plan::CollectiveKind::all_gather, 400'000'000, plan::group_shape(64, 8, job.cluster, 512)}};
    plan.names = {"ring"};
    plan.channels = {{plan::Channel::Kind::group, plan::Axis::dp}};
    plan.segments.emplace_back().operators = {operator_on(plan::Stream::dp, 0, 0)};
    plan.roles = {one_call(512)};
    EXPECT_NEAR(end_of(sim::simulate(plan, sim::priced(plan, job)), 0, plan::Stream::dp), 35 * o, 1e-3) << o;
  }
}

TEST_F(Coupled, TwoAxesOfOneStageThatOverlapInPartShareOnlyThen) {
  // Rings of 35 ms on two streams over the same cards; the second starts when a kernel of 20 ms ends. Until then the
  // first has had 20 of its 35; 15 more take 30 ms: 50. The second has then had 15 and takes 20 more: 70.
  spec::Job job = job_on_tree(1);
  plan::Plan plan;
  plan.axes.ranks = 512;
  plan.axes.shapes[static_cast<int>(plan::Axis::dp)] = plan.axes.shapes[static_cast<int>(plan::Axis::shard)] = {8, 64};
  const auto bytes = static_cast<std::int64_t>(350e6 * 64 / 63);
  plan.works = {plan::Collective{plan::CollectiveKind::all_gather, bytes, plan::group_shape(8, 64, job.cluster, 512)},
                plan::RatedCopy{20, 1000}};
  plan.names = {"operator"};
  plan.channels = {{plan::Channel::Kind::group, plan::Axis::dp}, {plan::Channel::Kind::group, plan::Axis::shard}};
  plan::Operator late = operator_on(plan::Stream::gather, 0, 1);
  late.waits[0] = plan::event_of(plan::Stream::to_host);
  plan.segments.emplace_back().operators = {operator_on(plan::Stream::dp, 0, 0),
                                            operator_on(plan::Stream::to_host, 1, -1), late};
  plan.roles = {one_call(512)};
  const trace::Trace trace = sim::simulate(plan, sim::priced(plan, job));
  EXPECT_NEAR(end_of(trace, 0, plan::Stream::dp), 50, 1e-3);
  EXPECT_NEAR(end_of(trace, 0, plan::Stream::gather), 70, 1e-3);
}

TEST_F(Coupled, AnExchangeOfExpertsHasAShareForEachPeer) {
  // Four nodes of one GPU. Each sends 100 MB to each of three others, 30 ms alone; beside it a ring of 150 MB a card,
  // 15 ms alone. Four flows on a card have 2.5 GB/s each: the exchange ends at 40 ms, when the ring has 50 MB left: 45.
  spec::Job job = toy::job();
  job.cluster = toy::cluster(4);
  job.cluster.nodes = 4;
  job.cluster.node.gpus = job.cluster.node.nvlink.domain = job.cluster.node.nic.count = 1;
  job.network.fidelity = spec::Fidelity::coupled;
  const plan::GroupShape all = plan::group_shape(1, 4, job.cluster, 4);
  plan::Plan plan;
  plan.axes.ranks = 4;
  plan.axes.shapes[static_cast<int>(plan::Axis::dp)] = plan.axes.shapes[static_cast<int>(plan::Axis::ep)] = {1, 4};
  plan.works = {plan::Collective{plan::CollectiveKind::all_to_all, 400'000'000, all},
                plan::Collective{plan::CollectiveKind::all_gather, 200'000'000, all}};
  plan.names = {"operator"};
  plan.channels = {{plan::Channel::Kind::group, plan::Axis::ep}, {plan::Channel::Kind::group, plan::Axis::dp}};
  plan.segments.emplace_back().operators = {operator_on(plan::Stream::ep, 0, 0), operator_on(plan::Stream::dp, 1, 1)};
  plan.roles = {one_call(4)};
  const trace::Trace trace = sim::simulate(plan, sim::priced(plan, job));
  EXPECT_NEAR(end_of(trace, 0, plan::Stream::ep), 40, 1e-4);
  EXPECT_NEAR(end_of(trace, 0, plan::Stream::dp), 45, 1e-4);
}

/// Latency, ramps and inefficiency on the fabric, kernels that hinder communication.
void roughen(spec::Job& job) {
  spec::NetworkCalibration& far = job.cluster.fabric.calibration;
  for (spec::PathCurve* curve : {&far.all_reduce, &far.all_gather, &far.reduce_scatter, &far.send}) {
    curve->efficiency = 0.8;
    curve->latency = base::us(20);
    curve->hop = base::us(3);
    curve->decay = 0.1;
    curve->ramp = base::Bytes(1e5);
  }
  job.cluster.node.calibration.comm_slowdown = 1.06;
  job.cluster.node.calibration.power.jitter = 0.05;  // flows begin when the latest rank has come
}

TEST_F(Coupled, WhereOneAxisCrossesAlmostNothingMeetsAndItIsTheClosedForm) {
  // Either pipeline or data parallel leaves the node, over cards of each GPU's own below one switch. Left
  // out are those that meet themselves: zero 2 and 3 gather while they reduce, chunks send while they send.
  random_jobs::Source source(21);
  int crossed = 0;
  for (int n = 0; n < 300; ++n) {
    spec::Job job = source.job();
    const spec::Strategy& s = job.strategy;
    const int ranks = job.cluster.gpus();
    const bool stages = s.pp > 1 && s.vpp == 1 && s.data() == 1;
    const bool copies = s.data() > 1 && s.pp == 1 && s.zero < 2;
    if ((!stages && !copies) || ranks == s.tp) continue;
    job.strategy.rank_order = spec::Strategy().rank_order;  // tp inside nodes, every hop of the axis between them
    job.cluster.node.gpus = job.cluster.node.nvlink.domain = job.cluster.node.nic.count = s.tp;
    job.cluster.nodes = ranks / s.tp;
    roughen(job);
    const double plain = step(job, spec::Fidelity::closed_form), coupled = step(job, spec::Fidelity::coupled);
    ASSERT_NEAR(coupled, plain, 0.01 * plain) << n << ": " << random_jobs::text(job);
    ++crossed;
  }
  EXPECT_GT(crossed, 50);
}

/// Random jobs on small nodes below thin leaves, so that all axes but tp cross and meet. (Where tp crosses too, each
/// exchange shifts the next, and a rounding of half a picosecond may double at each of them.)
spec::Job crowded(random_jobs::Source& source) {
  spec::Job job = source.job();
  job.strategy.rank_order = spec::Strategy().rank_order;
  const int ranks = job.cluster.gpus(), tp = job.strategy.tp;
  job.cluster.node.gpus = job.cluster.node.nvlink.domain = tp;
  job.cluster.node.nic.count = source.one_of({1, tp});
  job.cluster.nodes = ranks / tp;
  job.cluster.fabric.kind = Kind::fat_tree;
  job.cluster.fabric.leaf_nodes = 2;
  job.cluster.fabric.oversubscription = source.one_of({1, 2, 4});
  job.network.fidelity = spec::Fidelity::coupled;
  roughen(job);
  return job;
}

TEST_F(Coupled, RandomJobsAgreeWithTheOracleAndNeverDeadlock) {
  random_jobs::Source source(22);
  for (int n = 0; n < 60; ++n) {
    spec::Job job = crowded(source);
    job.simulation.unfold = source.below(4) == 0;
    const plan::Plan plan = plan::build(job);
    sim::EngineInput in = sim::priced(plan, job);
    const sim::EngineOutput ours = sim::run(in);
    ASSERT_FALSE(ours.deadlocked) << n << ": " << random_jobs::text(job);
    if (!in.carrier) continue;
    const auto& carrier = dynamic_cast<const sim::SimGridCarrier&>(*in.carrier);
    in.carrier = std::make_shared<oracle::MaxMinCarrier>(carrier.cargo());
    const auto plain = static_cast<double>(sim::run(in).end);
    ASSERT_NEAR(static_cast<double>(ours.end), plain, 1e-5 * plain) << n << ": " << random_jobs::text(job);
  }
}

TEST_F(Coupled, FoldedIsUnfoldedWhereAllRanksOfAStageAreAlike) {
  // Below one switch every node of a stage is like the others: each rank's own flows come to what the folded ones do.
  random_jobs::Source source(23);
  for (int n = 0; n < 60; ++n) {
    spec::Job job = crowded(source);
    job.cluster.fabric.kind = Kind::single_switch;
    const double folded = step(job, spec::Fidelity::coupled);
    job.simulation.unfold = true;
    ASSERT_NEAR(step(job, spec::Fidelity::coupled), folded, 1e-5 * folded) << n << ": " << random_jobs::text(job);
  }
}

TEST_F(Coupled, TheSameJobGetsTheSameAnswerToThePicosecond) {
  random_jobs::Source source(24);
  for (int n = 0; n < 20; ++n) {
    const spec::Job job = crowded(source);
    const trace::Ticks first = sim::predict(job).trace.length;
    sim::predict(crowded(source));
    ASSERT_EQ(sim::predict(job).trace.length, first) << n << ": " << random_jobs::text(job);
  }
}

TEST_F(Coupled, ChainsOfKernelsChangeNothing) {
  random_jobs::Source source(25);
  for (int n = 0; n < 30; ++n) {
    const spec::Job job = crowded(source);
    const double whole = sim::predict(job).prediction.step_time_s;
    ASSERT_NEAR(sim::predict(job, sim::Detail::chains).prediction.step_time_s, whole, 1e-6 * whole) << n;
  }
}

TEST_F(Coupled, WhatIsSlowOrLostIsSoOnTheWires) {
  // Two nodes of 8, one ring over both by all cards. The second's at a third: everything that crosses takes three times
  // as long. Four of its eight lost: half of the rate is left.
  const auto exchanged = [](const spec::Outages& outages) {
    const spec::Job job = toy::job({.dp = 16}, [&](spec::Job& j) {
      j.network.fidelity = spec::Fidelity::coupled;
      static_cast<spec::Outages&>(j.simulation) = outages;
    });
    for (const result::Communication& axis : sim::predict(job).prediction.communication) {
      if (axis.axis == "dp") return axis.time_s;
    }
    return 0.0;
  };
  const double whole = exchanged({});
  EXPECT_NEAR(exchanged({.slow_links = {{.node = 1, .factor = 3}}}), 3 * whole, 1e-3 * whole);
  EXPECT_NEAR(exchanged({.lost_nics = {{.node = 1, .count = 4}}}), 2 * whole, 1e-3 * whole);
}

TEST_F(Coupled, WhatIfOneAxisWereFreeItsFlowsLeaveTheFabric) {
  // Stages and copies both cross: without one, the other has the cards to itself; a free network leaves compute alone.
  spec::Job job = toy::job({.pp = 2, .dp = 8, .microbatches = 4});
  job.network.fidelity = spec::Fidelity::coupled;
  const result::Explanation answer = sim::explain(job);
  for (const result::WhatIf& free : answer.what_if) EXPECT_LE(free.step_time_s, answer.step_time_s * (1 + 1e-9));
}

}  // namespace
