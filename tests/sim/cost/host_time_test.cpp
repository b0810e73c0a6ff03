// tests/sim/cost/host_time_test.cpp -- what the host pays for an operator: launches, experts one by one, a slow host.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/host_time.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/support/toy.h"

namespace {

spec::Job job_of(double expert_us) {
  spec::Job job = toy::job();
  job.framework.launch = base::us(10);
  job.framework.backward_launch = base::us(8);
  job.framework.collective_launch = base::us(20);
  job.framework.expert_launch = base::us(expert_us);
  return job;
}

/// A plan of `work` alone, launched `launches` times.
double host_us(const plan::Work& work, const spec::Job& job, int launches = 1, double slowdown = 1,
               plan::Phase phase = plan::Phase::forward) {
  plan::Plan plan;
  plan.works = {work};
  plan::Operator op;
  op.phase = phase;
  op.launches = static_cast<std::uint16_t>(launches);
  return sim::host_time(op, plan, job, slowdown).si() * 1e6;
}

plan::Matmul matmul(std::int64_t batch, bool grouped) {
  plan::Matmul out{256, 1024, 512, batch};
  out.grouped = grouped;
  return out;
}

TEST(HostTime, AnExpertOfAGroupedMatmulIsALaunchOfItsOwnWhereAFrameworkLoops) {
  // 10 us for the operator, 12 us for each of 16 experts.
  EXPECT_NEAR(host_us(matmul(16, true), job_of(12)), 10 + 16 * 12, 1e-9);
  EXPECT_NEAR(host_us(matmul(16, true), job_of(0)), 10, 1e-9);    // one kernel
  EXPECT_NEAR(host_us(matmul(16, false), job_of(12)), 10, 1e-9);  // a batched matmul is one kernel
  EXPECT_NEAR(host_us(matmul(1, false), job_of(12)), 10, 1e-9);   // a lone expert's is a matmul like others
}

TEST(HostTime, FusedExpertsAreOneKernelButForThoseOfLayersIn16Bits) {
  // The operator of layer 0: 10 us of its launch, which no graph beside experts captures, and 12 us an expert only
  // where the layer stays wide.
  spec::Job job = job_of(12);
  job.training.precision = spec::Dtype::mxfp8;  // which such kernels ask for
  job.strategy.fused_kernels.experts = true;
  plan::Plan plan;
  plan.works = {matmul(16, true)};
  plan::Operator op;
  op.layer = 0;
  op.launches = 1;
  EXPECT_NEAR(sim::host_time(op, plan, job, 1).si() * 1e6, 10, 1e-9);
  job.strategy.cuda_graphs = spec::CudaGraphs::beside_experts;
  EXPECT_NEAR(sim::host_time(op, plan, job, 1).si() * 1e6, 10, 1e-9);
  job.training.wide_layers.first = 1;
  EXPECT_NEAR(sim::host_time(op, plan, job, 1).si() * 1e6, 10 + 16 * 12, 1e-9);
}

TEST(HostTime, CastsOfExpertsAreLaunchedOneByOne) {
  // The second kernel, scales put in tiles, is one for all.
  plan::MemoryBound cast{.kind = plan::MemoryBound::Kind::cast, .read = 1 << 20, .written = 1 << 19, .kernels = 2};
  EXPECT_NEAR(host_us(cast, job_of(12), 2), 2 * 10, 1e-9);
  cast.tensors = 4;
  EXPECT_NEAR(host_us(cast, job_of(12), 2), 2 * 10 + 4 * 12, 1e-9);
}

TEST(HostTime, ASlowHostTakesLongerForAllButTheExperts) {
  // Experts are issued from C++, whose published figure tells no host.
  EXPECT_NEAR(host_us(matmul(16, true), job_of(12), 1, 2.75), 2.75 * 10 + 16 * 12, 1e-9);
  spec::Job graphs = job_of(12);
  graphs.strategy.cuda_graphs = spec::CudaGraphs::whole;
  EXPECT_EQ(host_us(matmul(16, true), graphs, 1, 2.75), 0);
}

TEST(HostTime, ModulesThatNothingWrapsAreIssuedAtAPaceOfTheirOwn) {
  spec::Job job = job_of(0);
  job.framework.plain_launch = base::us(4);
  const auto both = [&] {
    return std::pair(host_us(matmul(1, false), job), host_us(matmul(1, false), job, 1, 1, plan::Phase::backward));
  };
  EXPECT_EQ(both(), std::pair(4.0, 4.0));
  job.strategy.zero = 1;
  EXPECT_EQ(both(), std::pair(4.0, 4.0));
  job.strategy.zero = 2;  // FSDP, too, wraps modules
  EXPECT_EQ(both(), std::pair(10.0, 8.0));
  job.strategy.zero = 0;
  for (int* cut : {&job.strategy.tp, &job.strategy.cp, &job.strategy.pp}) {
    *cut = 2;
    EXPECT_EQ(both(), std::pair(10.0, 8.0));
    *cut = 1;
  }
}

// Transformer Engine's linear layers: a forward is one matmul, a backward two, each pass as long on the host.
TEST(HostTime, AModuleTakesLongerThanALaunch) {
  spec::Job job = job_of(12);
  job.framework.module_launch = base::us(115);
  const plan::Work attention = plan::Attention{};
  EXPECT_NEAR(host_us(matmul(1, false), job), 115, 1e-9);
  EXPECT_NEAR(host_us(matmul(1, false), job, 1, 1, plan::Phase::backward), 57.5, 1e-9);
  EXPECT_NEAR(host_us(attention, job), 115, 1e-9);
  EXPECT_NEAR(host_us(attention, job, 3, 1, plan::Phase::backward), 115, 1e-9);  // once, whatever it launches
  EXPECT_NEAR(host_us(attention, job, 20, 1, plan::Phase::backward), 20 * 8, 1e-9);
  EXPECT_NEAR(host_us(matmul(1, false), job, 0), 0, 1e-9);  // part of another operator's kernel
  EXPECT_NEAR(host_us(matmul(16, true), job), 115 + 16 * 12, 1e-9);
  EXPECT_NEAR(host_us(matmul(16, false), job), 10, 1e-9);           // scores of unfused attention: an operator
  EXPECT_NEAR(host_us(plan::MemoryBound{}, job, 3), 3 * 10, 1e-9);  // elementwise kernels, too
  job.strategy.compile = true;
  job.framework.compiled_launch = base::us(3);
  EXPECT_NEAR(host_us(matmul(1, false), job), 3, 1e-9);
}

// DeepSpeed's ZeRO-3: hooks around each module fetch its parameters in every pass.
TEST(HostTime, UnderZeroThreeAModuleFetchesItsParameters) {
  spec::Job job = job_of(0);
  job.framework.module_fetch = base::us(490);
  job.strategy.dp = 4;
  EXPECT_NEAR(host_us(matmul(1, false), job), 10, 1e-9);  // zero 0: they are there
  job.strategy.zero = 3;
  EXPECT_NEAR(host_us(matmul(1, false), job), 10 + 490, 1e-9);
  EXPECT_NEAR(host_us(matmul(1, false), job, 1, 1, plan::Phase::recompute), 10 + 490, 1e-9);
  EXPECT_NEAR(host_us(matmul(1, false), job, 1, 1, plan::Phase::backward), 8 + 245, 1e-9);  // one of its two matmuls
  EXPECT_NEAR(host_us(matmul(8, true), job), 10 + 8 * 490, 1e-9);                           // a module an expert
  EXPECT_NEAR(host_us(matmul(16, false), job), 10, 1e-9);                                   // scores: no parameters
  EXPECT_NEAR(host_us(plan::Work(plan::Attention{}), job), 10, 1e-9);
  job.strategy.ep = 4;
  EXPECT_NEAR(host_us(matmul(2, true), job), 10, 1e-9);  // experts of one rank each: nobody to fetch them from
  job.strategy.lora = spec::Lora{.rank = 16};
  EXPECT_NEAR(host_us(matmul(1, false), job, 1, 1, plan::Phase::backward), 8 + 490, 1e-9);  // frozen: its only one
  EXPECT_NEAR(host_us(plan::Matmul{256, 16, 512, 1}, job), 10, 1e-9);                       // an adapter's
  job.strategy.lora.reset();
  job.training.mode = spec::Mode::prefill;
  EXPECT_NEAR(host_us(matmul(1, false), job), 10, 1e-9);  // nothing is sharded
  job.training.mode = spec::Mode::train;
  job.strategy.dp = 1;
  EXPECT_NEAR(host_us(matmul(1, false), job), 10, 1e-9);
}

// Pieces of tensor-parallel shards, in a pipeline between nodes: 20 us of a collective and 220 for each of 4 ranks.
TEST(HostTime, ACollectiveInPiecesTakesLongerWithItsRanksInAPipelineBetweenNodes) {
  spec::Job job = job_of(0);
  job.framework.pipelined_tp_launch = base::us(220);
  job.strategy.tp = 4;
  job.strategy.overlap.tp = spec::TpOverlap::chunked;
  plan::Plan plan;
  plan.works = {plan::Collective{}};
  plan.channels = {{.axis = plan::Axis::tp}, {.axis = plan::Axis::dp}, {.kind = plan::Channel::Kind::forward_edge}};
  plan.stages_over_fabric = true;
  const auto us = [&](int channel, double slowdown = 1) {
    plan::Operator op;
    op.channel = static_cast<std::int16_t>(channel);
    return sim::host_time(op, plan, job, slowdown).si() * 1e6;
  };
  EXPECT_NEAR(us(0), 20 + 4 * 220, 1e-9);
  EXPECT_NEAR(us(0, 2), 2 * (20 + 4 * 220), 1e-9);
  EXPECT_NEAR(us(1), 20, 1e-9);  // of data-parallel ranks
  EXPECT_NEAR(us(2), 20, 1e-9);  // to the next stage
  job.strategy.overlap.tp = spec::TpOverlap::none;
  EXPECT_NEAR(us(0), 20, 1e-9);
  job.strategy.overlap.tp = spec::TpOverlap::chunked;
  plan.stages_over_fabric = false;
  EXPECT_NEAR(us(0), 20, 1e-9);
}

TEST(HostTime, GraphsBesideExpertsLeaveTheirKernelsAndExchangesToTheHost) {
  spec::Job job = job_of(12);
  job.strategy.cuda_graphs = spec::CudaGraphs::beside_experts;
  EXPECT_EQ(host_us(matmul(1, false), job), 0);
  EXPECT_EQ(host_us(plan::MemoryBound{}, job, 4), 0);
  EXPECT_NEAR(host_us(matmul(16, true), job), 10 + 16 * 12, 1e-9);
  plan::Plan plan;
  plan.works = {plan::Collective{}};
  plan::Operator exchange;
  exchange.channel = 0;
  EXPECT_NEAR(sim::host_time(exchange, plan, job, 1).si() * 1e6, 20, 1e-9);
}

TEST(HostTime, ASlowHostIsHeldAgainstThoseThatTheFiguresAreOf) {
  // 2.75 / 2.5 = 1.1; on hosts between 1 and 2.5 the figures hold, and what is said to be faster is so.
  spec::Framework taken_on_slow_hosts;
  taken_on_slow_hosts.host_slowdown = 2.5;
  const auto slowdown = [](double of_host, const spec::Framework& f) {
    spec::Host host;
    host.launch_slowdown = of_host;
    return sim::slowdown_of(host, f);
  };
  EXPECT_DOUBLE_EQ(slowdown(2.75, taken_on_slow_hosts), 1.1);
  for (const double usual : {1.0, 1.7, 2.5}) EXPECT_EQ(slowdown(usual, taken_on_slow_hosts), 1) << usual;
  EXPECT_EQ(slowdown(0.5, taken_on_slow_hosts), 0.5);
  for (const double any : {0.5, 1.0, 2.75}) EXPECT_EQ(slowdown(any, spec::Framework{}), any) << any;
}

}  // namespace
