// tests/real/measure/capture_test.cpp -- tests real/measure/capture_forks.h and capturable.h: which streams a capture
// forks and joins, and which jobs cannot be captured. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/plan/build.h"
#include "real/measure/capturable.h"
#include "real/measure/capture_forks.h"
#include "real/measure/event_board.h"
#include "tests/real/executor/tiny.h"

namespace {

using plan::Stream;
using real::CaptureForks;

TEST(CaptureForks, AStreamForksOnceAndIsJoined) {
  CaptureForks forks;
  forks.begin();
  EXPECT_FALSE(forks.must_fork(Stream::compute));  // where the capture begins
  EXPECT_TRUE(forks.must_fork(Stream::tp));
  EXPECT_FALSE(forks.must_fork(Stream::tp));
  EXPECT_TRUE(forks.must_fork(Stream::dp));
  EXPECT_EQ(forks.to_join(), (std::vector<Stream>{Stream::tp, Stream::dp}));
}

TEST(CaptureForks, AnotherCaptureForksAnew) {
  CaptureForks forks;
  forks.begin();
  forks.must_fork(Stream::tp);
  forks.begin();
  EXPECT_TRUE(forks.to_join().empty());
  EXPECT_TRUE(forks.must_fork(Stream::tp));
}

/// Walks a role's operators as the GPU backend does and notes in which capture each event was recorded: a wait for
/// another capture's event is an error of CUDA's.
void expect_waits_within_a_capture(const plan::Plan& plan, const plan::Role& role) {
  CaptureForks forks;
  real::EventBoard board;
  std::array<int, plan::kEvents> recorded_in;
  recorded_in.fill(-1);
  int capture = 0;
  for (const plan::Call& call : role.calls) {
    for (const plan::Operator& op : plan.segments[call.segment].operators) {
      forks.must_fork(op.stream);
      for (const plan::EventId event : op.waits) {
        if (!board.must_wait(op.stream, event)) continue;
        EXPECT_EQ(recorded_in[event], capture) << plan.names[op.name];
      }
      if (std::holds_alternative<plan::HostSync>(plan.works[op.work])) {
        ++capture;
        board.clear();
        forks.begin();
      }
      const auto record = [&](plan::EventId event) {
        board.record(event, op.stream);
        recorded_in[event] = capture;
      };
      record(plan::event_of(op.stream));
      if (op.records >= 0) record(op.records);
    }
  }
}

spec::Job with_graphs(const spec::Model& model, const toy::Cut& cut) {
  spec::Job j = tiny::draft(model, cut);
  j.strategy.cuda_graphs = spec::CudaGraphs::whole;
  return j;
}

TEST(Capturable, StepsOfDenseModelsAre) {
  for (const toy::Cut& cut : std::vector<toy::Cut>{{},
                                                   {.tp = 2, .sp = true},
                                                   {.dp = 2, .zero = 1},
                                                   {.dp = 2, .zero = 3},
                                                   {.pp = 2, .schedule = spec::Schedule::zb_h1},
                                                   {.pp = 2, .dp = 2}}) {
    const spec::Job job = toy::resolved(with_graphs(tiny::llama(), cut));
    const plan::Plan plan = plan::build(job);
    EXPECT_TRUE(real::uncapturable(job, plan).empty());
    for (const plan::Role& role : plan.roles) expect_waits_within_a_capture(plan, role);
  }
}

std::vector<std::string> refused(const spec::Job& draft) {
  const spec::Job job = toy::resolved(draft);
  std::vector<std::string> out;
  for (const base::Fault& fault : real::uncapturable(job, plan::build(job))) out.push_back(fault.what);
  return out;
}

TEST(Capturable, WhatTheHostHasToSeeIsNot) {
  using Whats = std::vector<std::string>;
  const std::string cannot = " cannot be captured in a CUDA graph";
  EXPECT_EQ(refused(with_graphs(tiny::moe(), {})), Whats{"counts of tokens by expert, which the host reads," + cannot});
  spec::Job beside = with_graphs(tiny::moe(), {});
  beside.strategy.cuda_graphs = spec::CudaGraphs::beside_experts;
  EXPECT_EQ(refused(beside), Whats{"beside_experts is predicted only: whole steps are captured here, or none"});
  spec::Job offloaded = with_graphs(tiny::llama(), {});
  offloaded.cluster.node.pcie.bandwidth = base::GBps(10);
  offloaded.cluster.node.host.memory = base::GB(100);
  offloaded.cluster.node.host.bandwidth = base::GBps(100);
  offloaded.strategy.offload.activations = true;
  offloaded.strategy.offload_given = true;
  EXPECT_EQ(refused(offloaded), Whats{"work of the host on what is offloaded" + cannot});
  EXPECT_EQ(refused(with_graphs(tiny::llama(), {.pp = 2, .schedule = spec::Schedule::pipedream})),
            Whats{"weights that lie elsewhere in each step" + cannot});
  spec::Job waits = with_graphs(tiny::llama(), {.pp = 2});
  waits.strategy.overlap.p2p = false;
  waits.framework.synchronizes_p2p = true;
  EXPECT_EQ(refused(waits), Whats{"'exchange awaited by the host', where one rank alone waits," + cannot});
  waits.strategy.cuda_graphs = spec::CudaGraphs::none;
  EXPECT_EQ(refused(waits), Whats{});
}

}  // namespace
