// tests/core/plan/step_ends_test.cpp -- what an optimizer's step takes for itself, which gradients are summed in front
// of it. SPDX-License-Identifier: Apache-2.0
#include "core/plan/step_ends.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "tests/core/plan/walk.h"

namespace {

/// Bytes beside the states while 1000 parameters are updated.
std::int64_t workspace(int zero, double tile) {
  const spec::Job j = toy::job({.dp = 4, .zero = zero}, [&](spec::Job& job) {
    job.framework.optimizer_workspace = 4;
    job.framework.optimizer_tile = base::Bytes(tile);
  });
  walk::Pen pen;
  plan::update_parameters(plan::Context(j), pen.out, 1000);
  return pen.out.finish().memory.front().bytes;
}

/// All bytes that are taken meanwhile, one after the other.
std::int64_t taken_while_updated(const spec::Job& j) {
  walk::Pen pen;
  plan::update_parameters(plan::Context(j), pen.out, 1000);
  std::int64_t all = 0;
  for (const plan::MemoryChange& change : pen.out.finish().memory) all += std::max<std::int64_t>(change.bytes, 0);
  return all;
}

TEST(StepEnds, AnOptimizerMayCopyItsGradients) { EXPECT_EQ(workspace(1, 0), 4000); }

TEST(StepEnds, SixteenBitGradientsOfAFlatTensorAreLaidOutBeforeTheyAreCast) {
  const auto taken = [](spec::Dtype gradients, bool flat, int zero, double tile) {
    const spec::Job j = toy::job({.dp = 4, .zero = zero}, [&](spec::Job& job) {
      job.framework.optimizer_workspace = 4;
      job.framework.flat_workspace = flat;
      job.framework.optimizer_tile = base::Bytes(tile);
      job.training.gradient_dtype = gradients;
    });
    return taken_while_updated(j);
  };
  EXPECT_EQ(taken(spec::Dtype::bf16, true, 1, 0), (2 + 4) * 1000);
  EXPECT_EQ(taken(spec::Dtype::fp32, true, 1, 0), 4 * 1000);  // no cast, no second tensor
  EXPECT_EQ(taken(spec::Dtype::bf16, false, 1, 0), 4 * 1000);
  EXPECT_EQ(taken(spec::Dtype::bf16, true, 3, 1600), (2 + 4) * 400);  // 400 fp32 weights a tile
}

TEST(StepEnds, AFlatTensorOfSharesIsLaidOutCastClippedAndRead) {
  // Zero 1 on one rank, bf16 gradients: the norm reads 2 bytes of each and, by a copy in fp64, 8 more; flattened (2, 2)
  // and cast (2, 4); clipped (4, 4); the update reads that gradient, two moments and the master (16), and the master
  // once more for the 16-bit weight (4).
  const auto moved = [](int zero) {
    const spec::Job j = toy::job({.dp = 4, .zero = zero}, [](spec::Job& job) {
      job.framework.flat_workspace = job.framework.fp64_norm = true;
      job.framework.optimizer_workspace = 4;
      job.training.gradient_dtype = spec::Dtype::bf16;
    });
    const plan::Plan p = plan::build(j);
    const std::int64_t owned = plan::optimizer_share(plan::Context(j), {walk::parameters(j, p.roles[0]), 0}).total();
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> out;  // bytes a parameter, read and written
    walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
      const auto* work = std::get_if<plan::MemoryBound>(&p.works[op.work]);
      if (work && op.phase == plan::Phase::optimizer)
        out[p.names[op.name]] = {work->read / owned, work->written / owned};
    });
    return out;
  };
  using Bytes = std::pair<std::int64_t, std::int64_t>;
  auto of_shares = moved(1), whole = moved(0);
  EXPECT_EQ(of_shares["gradient norm"], Bytes(2 + 8, 8));
  EXPECT_EQ(of_shares["flatten gradients"], Bytes(2 + 2, 2 + 4));
  EXPECT_EQ(of_shares["clip gradients"], Bytes(4, 4));
  EXPECT_EQ(of_shares["optimizer"], Bytes(4 + 12 + 4, 12 + 2));
  EXPECT_EQ(whole.count("flatten gradients"), 0U);
  EXPECT_EQ(whole["gradient norm"], Bytes(2, 0));
  EXPECT_EQ(whole["clip gradients"], Bytes(2, 2));
  EXPECT_EQ(whole["optimizer"], Bytes(2 + 12, 12 + 2));
}

TEST(StepEnds, ShardsThatAreTheMastersAreReadAndWrittenOnce) {
  // PyTorch's zero 3, whatever dtype gradients were reduced in: a gradient of 4 bytes, two moments and the master read;
  // moments and master written, which the next gather casts. Others write a 16-bit weight besides.
  const auto moved = [](bool masters) {
    const spec::Job j = toy::job({.dp = 4, .zero = 3}, [&](spec::Job& job) {
      job.framework.fp32_shards = masters;
      job.training.gradient_dtype = spec::Dtype::bf16;
    });
    walk::Pen pen;
    plan::update_parameters(plan::Context(j), pen.out, 1000);
    const auto work = std::get<plan::MemoryBound>(pen.work(pen.out.finish().operators.front()));
    return std::pair(work.read, work.written);
  };
  EXPECT_EQ(moved(true), std::pair(std::int64_t{16'000}, std::int64_t{12'000}));
  EXPECT_EQ(moved(false), std::pair(std::int64_t{14'000}, std::int64_t{14'000}));
}

TEST(StepEnds, AnUpdateOfSeveralPassesMovesItsBytesAsOften) {
  // Zero 0 in bf16, 1000 parameters: an fp32 gradient, two moments and the master are read; moments, master and a bf16
  // weight written. A chain of kernels that takes 2.5 times as long is that many bytes.
  const auto moved = [](double passes) {
    const spec::Job j = toy::job({}, [&](spec::Job& job) { job.framework.optimizer_passes = passes; });
    walk::Pen pen;
    plan::update_parameters(plan::Context(j), pen.out, 1000);
    const auto work = std::get<plan::MemoryBound>(pen.work(pen.out.finish().operators.front()));
    return std::pair(work.read, work.written);
  };
  EXPECT_EQ(moved(1), std::pair(std::int64_t{16'000}, std::int64_t{14'000}));
  EXPECT_EQ(moved(2.5), std::pair(std::int64_t{40'000}, std::int64_t{35'000}));
}

TEST(StepEnds, RootsOfSecondMomentsHaveTheirDtype) {
  // The square root of each second moment: 4 bytes a parameter in fp32, 2 in bf16; kernels of 8-bit moments have none,
  // and what SGD takes is not of moments.
  const auto taken = [](spec::Optimizer optimizer, spec::Dtype moments) {
    const spec::Job j = toy::job({}, [&](spec::Job& job) {
      job.framework.optimizer_workspace = 4;
      job.training.optimizer = optimizer;
      job.training.moments_dtype = moments;
    });
    return taken_while_updated(j);
  };
  EXPECT_EQ(taken(spec::Optimizer::adamw, spec::Dtype::fp32), 4000);
  EXPECT_EQ(taken(spec::Optimizer::adamw, spec::Dtype::bf16), 2000);
  EXPECT_EQ(taken(spec::Optimizer::adamw8bit, spec::Dtype::fp32), 0);
  EXPECT_EQ(taken(spec::Optimizer::sgd, spec::Dtype::bf16), 4000);
}

TEST(StepEnds, WholeGradientsAreGoneBesideTheOptimizer) {
  // zero 2, scattered behind the last of 4 microbatches: whole fp32 gradients stay for the sum from the begin of the
  // step, of which a quarter, the shards that take their place, is held throughout and is all that remains behind the
  // clip.
  const auto summed = [](bool each) {
    const spec::Job j = toy::job({.dp = 4, .zero = 2, .microbatches = 4},
                                 [&](spec::Job& job) { job.strategy.fsdp.sync_each_microbatch = each; });
    const plan::Plan p = plan::build(j);
    const plan::Role& role = p.roles[0];
    const auto at = [&](const plan::Call& call, bool taken) {
      std::int64_t sum = 0;
      for (const plan::MemoryChange& change : p.segments[call.segment].memory) {
        const bool counts = change.category == plan::Category::gradients && (change.bytes > 0) == taken;
        sum += counts ? change.bytes : 0;
      }
      return sum;
    };
    const std::int64_t whole = 4 * walk::parameters(j, role);
    EXPECT_EQ(at(role.calls.front(), true), each ? 0 : whole - whole / 4);
    EXPECT_EQ(at(role.calls.back(), false), each ? 0 : whole / 4 - whole);
    EXPECT_EQ(role.resident[static_cast<int>(plan::Category::gradients)], whole / 4);
  };
  summed(false);
  summed(true);
}

TEST(StepEnds, ZeroThreeUpdatesByTiles) {
  EXPECT_EQ(workspace(3, 1500), 1500);
  EXPECT_EQ(workspace(3, 5000), 4000);  // a tile that holds all of them
  EXPECT_EQ(workspace(1, 1500), 4000);  // zero 1 and 2 have none
}

TEST(StepEnds, SequenceParallelSumsTheGradientsOfNorms) {
  // Scale and shift of 256 in two norms of 4 layers and behind them: (4 x 2 + 1) x 512 numbers in fp32. Without
  // sequence parallel each rank's norms see every token.
  const plan::Plan p = plan::build(toy::job({.tp = 2, .sp = true})), q = plan::build(toy::job({.tp = 2}));
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "shared weights"), 9 * 512 * 4);
  EXPECT_EQ(walk::count(q, q.roles[0], "shared weights"), 0);
}

TEST(StepEnds, NormsOfQueriesAndKeysSeeARanksHeadsAlone) {
  // Two scales of 32 in 4 layers; an rmsnorm has no shift.
  const plan::Plan p = plan::build(toy::job({.tp = 2}, [](spec::Job& j) {
    j.model.qk_norm = true;
    j.model.norm = spec::Norm::rmsnorm;
  }));
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "shared weights"), 4 * 2 * 32 * 4);
}

TEST(StepEnds, CopiesOfKeyHeadsSumTheirGradients) {
  // 2 key heads on 8 ranks, so that 4 hold each: keys and values of one head of 32, from 256 inputs and a bias, in 4
  // layers.
  const auto grouped = [](spec::Job& j) { j.model.kv_heads = 2; };
  const plan::Plan p = plan::build(toy::job({.tp = 8}, grouped)), q = plan::build(toy::job({.tp = 2}, grouped));
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "copied heads"), 4 * 2 * 32 * (256 + 1) * 4);
  EXPECT_EQ(p.axes[plan::Axis::kv_copies].size, 4);
  EXPECT_EQ(walk::count(q, q.roles[0], "copied heads"), 0);
}

TEST(StepEnds, ATableThatTwoChunksShareLeavesBehindAllPasses) {
  // zb-v: the first stage holds the embedding in chunk 0 and the head in chunk 1, one table of 2048 x 256.
  const spec::Job j =
      toy::job({.pp = 2, .dp = 2, .microbatches = 4, .schedule = spec::Schedule::zb_v}, [](spec::Job& job) {
        job.model.tied_embeddings = true;
        job.strategy.overlap.grad_reduce = true;
      });
  const plan::Plan p = plan::build(j);
  const plan::Segment& end = p.segments[p.roles[0].calls.back().segment];
  EXPECT_EQ(p.names[end.operators.front().name], "gradient all-reduce");
  EXPECT_EQ(walk::collective(p, end.operators.front())->bytes, 2048 * 256 * 4);
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "gradient all-reduce"), walk::parameters(j, p.roles[0]) * 4);
}

}  // namespace
