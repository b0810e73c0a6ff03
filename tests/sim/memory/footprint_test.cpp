// tests/sim/memory/footprint_test.cpp -- what stands beside the framework's allocations.
// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/footprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/plan/build.h"
#include "tests/support/toy.h"

namespace {

TEST(Footprint, GathersOnAStreamOfTheirOwnReserveTwoUnitsBesideThePeak) {
  const auto made = [](bool pools) {
    return toy::job({.dp = 4, .zero = 3}, [&](spec::Job& j) {
      j.framework.unit_copies = true;
      j.framework.stream_pools = pools;
      j.strategy.overlap.param_gather = true;
    });
  };
  const spec::Job with = made(true), without = made(false);
  const sim::Footprint f = sim::footprints(plan::build(with), with)[0];
  const sim::Footprint g = sim::footprints(plan::build(without), without)[0];
  EXPECT_EQ(f.peak.total(), g.peak.total());
  // Root: 2 x 2048 x 256 + 128 x 256 + the final norm's 512; a block: 12 x 256^2 + 13 x 256; bf16.
  const std::int64_t root = 2 * 2048 * 256 + 128 * 256 + 512, block = 12 * 256 * 256 + 13 * 256;
  const std::int64_t flying = f.peak.bytes[static_cast<int>(plan::Category::communication)];
  EXPECT_EQ(f.reserved - g.reserved, 2 * (root + block) - flying);
}

TEST(Footprint, PoolsStandAtTheirOwnHeights) {
  // Gathers hold little where the loss needs most, and their pool is there all the same.
  const toy::Cut cut{.dp = 4, .zero = 3, .micro_batch = 2};
  const spec::Job job = toy::job(cut, [](spec::Job& j) {
    j.framework.unit_copies = j.framework.stream_pools = true;
    j.framework.fragmentation = 0.25;
    j.strategy.overlap.param_gather = true;
    j.strategy.fsdp.unit = 2;
  });
  const plan::Plan plan = plan::build(job);
  const plan::Role& role = plan.roles[0];
  auto levels = role.resident;
  double most = 0;
  std::int64_t pool = 0;
  for (const plan::Call& call : role.calls) {
    pool = std::max(pool, sim::gather_pool(plan, plan.segments[call.segment]));
    for (const plan::MemoryChange& change : plan.segments[call.segment].memory) {
      levels[static_cast<int>(change.category)] += change.bytes;
      const auto of = [&](plan::Category c) { return static_cast<double>(levels[static_cast<int>(c)]); };
      most = std::max(most, std::accumulate(levels.begin(), levels.end(), 0.0) - of(plan::Category::communication) +
                                0.25 * (of(plan::Category::activations) + of(plan::Category::workspace) +
                                        of(plan::Category::logits)));
    }
  }
  const sim::Footprint f = sim::footprints(plan, job)[0];
  EXPECT_NEAR(static_cast<double>(f.total() - f.context - f.communicators), most + static_cast<double>(pool), 1);
  EXPECT_GT(f.total(), sim::footprint(f.peak, plan, job, pool).total());  // at the moment of most live bytes
}

TEST(Footprint, ShardsOfGradientsThatComeAnewAreReservedAllTheTime) {
  const auto of = [](bool fresh) {
    const spec::Job job = toy::job({.dp = 4, .zero = 3}, [&](spec::Job& j) {
      j.framework.stream_pools = true;
      j.framework.fresh_gradients = fresh;
    });
    return sim::footprints(plan::build(job), job)[0];
  };
  const sim::Footprint kept = of(false), fresh = of(true);
  EXPECT_LT(fresh.allocated(), kept.allocated());
  EXPECT_EQ(fresh.total(), kept.total());
}

TEST(Footprint, ReservesContextCommunicatorsAndWhatTheAllocatorWastes) {
  const auto reserved = [](const toy::Cut& cut, double fragmentation) {
    const spec::Job job = toy::job(cut, [&](spec::Job& j) {
      j.framework.context = base::Bytes(1000);
      j.framework.communicator = base::Bytes(10);
      j.framework.fragmentation = fragmentation;
    });
    return sim::footprints(plan::build(job), job).front();
  };
  EXPECT_EQ(reserved({.tp = 2}, 0).reserved, 1000);
  EXPECT_EQ(reserved({}, 0).communicators, 0);
  EXPECT_EQ(reserved({.dp = 2}, 0).communicators, 10);
  EXPECT_EQ(reserved({.tp = 2}, 0).communicators, 10);
  EXPECT_EQ(reserved({.tp = 2, .dp = 2}, 0).communicators, 20);
  EXPECT_EQ(reserved({.tp = 2, .pp = 2, .dp = 2, .microbatches = 2}, 0).communicators, 50);  // pipelines have three
  // A tenth of what moves: parameters, gradients and optimizer states never do.
  const sim::Footprint f = reserved({}, 0.1);
  using plan::Category;
  std::int64_t moving = 0;
  for (const Category c : {Category::activations, Category::workspace, Category::logits})
    moving += f.peak.bytes[static_cast<int>(c)];
  ASSERT_GT(moving, 0);
  EXPECT_EQ(f.reserved, static_cast<std::int64_t>(1000 + 0.1 * static_cast<double>(moving)));
  EXPECT_EQ(f.total(), f.peak.total() + f.reserved);
  const sim::Footprint g = reserved({.tp = 2}, 0.1);
  EXPECT_EQ(g.total(), g.peak.total() + 10 + g.reserved);
}

TEST(Footprint, ReplicasThatServeNeverMeet) {
  const auto communicators = [](const toy::Cut& cut) {
    const spec::Job job = toy::job(cut, [&](spec::Job& j) {
      j.training.mode = spec::Mode::decode;
      j.framework.communicator = base::Bytes(10);
    });
    return sim::footprints(plan::build(job), job).front().communicators;
  };
  EXPECT_EQ(communicators({.dp = 4}), 0);
  EXPECT_EQ(communicators({.tp = 2, .dp = 4}), 10);
}

TEST(Footprint, ThreeToolsCountMoreAndMore) {
  const spec::Job job = toy::job({.tp = 2}, [](spec::Job& j) {
    j.framework.context = base::Bytes(1000);
    j.framework.communicator = base::Bytes(10);
    j.framework.fragmentation = 0.1;
  });
  const sim::Footprint f = sim::footprints(plan::build(job), job).front();
  EXPECT_EQ(f.allocated(), f.peak.total());
  // Neither the context nor NCCL's buffers are its own; the table's gradient is given away last.
  EXPECT_EQ(f.held_by_allocator(), f.total() - 1000 - 10 + f.held_back);
  EXPECT_GT(f.held_by_allocator(), f.allocated());
}

TEST(Footprint, AStageThatKeepsWhatItSentHoldsItForEveryMicrobatchInFlight) {
  const auto activations = [](bool keeps, int stage) {
    const spec::Job job =
        toy::job({.pp = 2, .microbatches = 4}, [&](spec::Job& j) { j.framework.keeps_stage_outputs = keeps; });
    return sim::footprints(plan::build(job), job)[stage].peak.bytes[static_cast<int>(plan::Category::activations)];
  };
  // 128 tokens of 256 in bf16; two of them in flight before the first backward, none sent on by the last stage.
  EXPECT_EQ(activations(true, 0) - activations(false, 0), 2 * 128 * 256 * 2);
  EXPECT_EQ(activations(true, 1), activations(false, 1));
}

TEST(Footprint, ExpertsHaveCommunicatorsOfTheirOwn) {
  const auto communicators = [](int ep, int etp) {
    const spec::Job job = toy::job({.tp = 2, .sp = true, .dp = 4}, [&](spec::Job& j) {
      j.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 512};
      j.model.bias = false;
      j.strategy.ep = ep;
      j.strategy.etp = etp;
      j.framework.communicator = base::Bytes(10);
    });
    return sim::footprints(plan::build(job), job).front().communicators;
  };
  EXPECT_EQ(communicators(1, 1), 20);  // tp, dp
  EXPECT_EQ(communicators(4, 1), 40);  // ep, and the two holders of an expert
  EXPECT_EQ(communicators(4, 2), 40);  // ep and etp; no expert is held twice
  EXPECT_EQ(communicators(2, 2), 50);  // all three
}

TEST(Footprint, EarlierStagesHoldMoreMicrobatchesUnderOneForwardOneBackward) {
  const spec::Job job = toy::job({.pp = 4, .microbatches = 8});
  const std::vector<sim::Footprint> all = sim::footprints(plan::build(job), job);
  ASSERT_EQ(all.size(), 4u);
  const auto activations = [&](int stage) {
    return all[stage].peak.bytes[static_cast<int>(plan::Category::activations)];
  };
  // Stages 1 and 2 have one layer each and hold 3 and 2 microbatches of it; neither has embedding or head.
  EXPECT_EQ(activations(1) * 2, activations(2) * 3);
}

}  // namespace
