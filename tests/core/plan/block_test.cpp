// tests/core/plan/block_test.cpp -- one layer's operators: what is computed again, what is sent, how memory moves.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/block.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <variant>

#include "tests/core/plan/walk.h"

namespace {

using Kind = spec::Recompute::Kind;
using plan::CollectiveKind;
using plan::Phase;

struct Layer {
  plan::Plan plan;  // works and names of both
  plan::Segment forward, backward;
};

Layer layer(const spec::Job& j, Kind kind, bool windowed = false) {
  const plan::Context c(j);
  Layer out;
  plan::Pool pool(out.plan);
  plan::SegmentBuilder forward(pool, "forward"), backward(pool, "backward");
  plan::Block(c, forward).forward(kind, windowed);
  plan::Block(c, backward).backward(kind, windowed);
  out.forward = forward.finish();
  out.backward = backward.finish();
  return out;
}

double flops(const Layer& l, const plan::Segment& segment, Phase phase) { return walk::flops(l.plan, segment, phase); }

int named(const Layer& l, const plan::Segment& segment, std::string_view part) {
  int count = 0;
  for (const plan::Operator& op : segment.operators) count += l.plan.names[op.name].find(part) != std::string::npos;
  return count;
}

std::int64_t sent(const Layer& l, const plan::Segment& segment, CollectiveKind kind) {
  std::int64_t sum = 0;
  for (const plan::Operator& op : segment.operators) {
    const plan::Collective* work = walk::collective(l.plan, op);
    if (work && work->kind == kind) sum += work->bytes;
  }
  return sum;
}

TEST(Block, FullRecomputeCostsExactlyOneMoreForward) {
  walk::Dice dice(11);
  for (int i = 0; i < 200; ++i) {
    const spec::Job j = walk::random_job(dice);
    const bool windowed = dice.coin();
    const Layer full = layer(j, Kind::full, windowed), none = layer(j, Kind::none, windowed);
    const double forward = flops(full, full.forward, Phase::forward);
    EXPECT_GT(forward, 0);
    EXPECT_EQ(flops(full, full.backward, Phase::recompute), forward) << walk::told(j);
    EXPECT_EQ(flops(full, full.backward, Phase::backward), flops(none, none.backward, Phase::backward))
        << walk::told(j);
    EXPECT_EQ(flops(none, none.backward, Phase::recompute), 0) << walk::told(j);
  }
}

TEST(Block, SelectiveRecomputeCostsTheAttentionCoreAgain) {
  // Scores and values, 2 s s h FLOPs each without mask: 4 x 128 x 128 x 256.
  const spec::Job j = toy::job({.attention = spec::AttentionKernel::unfused});
  const Layer l = layer(j, Kind::selective);
  EXPECT_EQ(flops(l, l.backward, Phase::recompute), 4.0 * 128 * 128 * 256);
}

/// PyTorch's allow_tf32 holds for batched matmuls as for linear layers: all operands are 4 bytes and rounded by the
/// GPU.
TEST(Block, InTf32EveryMatmulIsOfTf32) {
  const plan::Plan p = plan::build(toy::job({.attention = spec::AttentionKernel::unfused}, [](spec::Job& j) {
    j.training.precision = spec::Dtype::tf32;
    j.cluster.node.gpu.peak[static_cast<int>(spec::Dtype::tf32)] = base::TFLOPps(500);
  }));
  int batched = 0;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const auto* work = std::get_if<plan::Matmul>(&p.works[op.work]);
    if (!work) return;
    EXPECT_EQ(work->dtype, spec::Dtype::tf32) << p.names[op.name];
    EXPECT_EQ(spec::bytes_of(work->out), 4) << p.names[op.name];
    batched += work->batch > 1;
  });
  EXPECT_GT(batched, 0);
}

TEST(Block, BackwardOfUnfusedAttentionAndOfMatmulsCostsTwoForwards) {
  walk::Dice dice(12);
  for (int i = 0; i < 200; ++i) {
    spec::Job j = walk::random_job(dice);
    j.strategy.attention_kernel = spec::AttentionKernel::unfused;
    const Layer l = layer(j, Kind::none);
    EXPECT_EQ(flops(l, l.backward, Phase::backward), 2 * flops(l, l.forward, Phase::forward)) << walk::told(j);
  }
}

TEST(Block, MemoryOfAForwardAndItsBackwardSumsToZero) {
  walk::Dice dice(13);
  for (int i = 0; i < 400; ++i) {
    const spec::Job j = walk::random_job(dice);
    for (const Kind kind : {Kind::none, Kind::selective, Kind::full, Kind::selective_ops}) {
      const Layer l = layer(j, kind);
      std::array<std::int64_t, plan::kCategories> held{};
      for (const plan::Segment* segment : {&l.forward, &l.backward}) {
        for (const plan::MemoryChange& change : segment->memory) {
          std::int64_t& now = held[static_cast<int>(change.category)];
          now += change.bytes;
          ASSERT_GE(now, 0) << "given back before it was taken, " << walk::told(j);
        }
        // Between the two stays what activations.cpp counts, and no workspace.
        if (segment == &l.forward) {
          const plan::Context c(j);
          EXPECT_EQ(held[static_cast<int>(plan::Category::activations)], plan::kept_activations(c, kind).total());
          EXPECT_EQ(held[static_cast<int>(plan::Category::workspace)], 0);
        }
      }
      for (const std::int64_t left : held) EXPECT_EQ(left, 0) << walk::told(j);
    }
  }
}

TEST(Block, TakesBackWhatItKeptBeforeItComputesItAgain) {
  // At the first operator of the backward the whole block's activations are held, of which the forward kept 2 s b h.
  const spec::Job j = toy::job();
  const plan::Context c(j);
  const Layer l = layer(j, Kind::full);
  const std::int64_t whole = plan::kept_activations(c, Kind::none).total();
  const plan::MemoryChange& first = l.backward.memory.front();
  EXPECT_EQ(first.at, 0);
  EXPECT_FALSE(first.after);
  EXPECT_EQ(first.category, plan::Category::activations);
  EXPECT_EQ(first.bytes, whole - 2 * 128 * 256);
}

TEST(Block, OfOneTensorParallelRankSendsNothing) {
  walk::Dice dice(14);
  for (int i = 0; i < 200; ++i) {
    spec::Job j = walk::random_job(dice);
    if (j.strategy.tp > 1) continue;
    const Layer l = layer(j, Kind::full);
    for (const plan::Segment* segment : {&l.forward, &l.backward}) {
      for (const plan::Operator& op : segment->operators) {
        EXPECT_EQ(op.stream, plan::Stream::compute);
        EXPECT_EQ(op.channel, -1);
      }
    }
  }
}

// 2 s b h bytes: one tensor of the residual stream.
constexpr std::int64_t kTensor = 2 * 128 * 256;

TEST(Block, UnderTensorParallelAllReducesTwiceEachWay) {
  // Shoeybi et al., arXiv 1909.08053, fig. 4: behind attention and feed-forward; their conjugates in the backward.
  const Layer l = layer(toy::job({.tp = 4}), Kind::none);
  EXPECT_EQ(sent(l, l.forward, CollectiveKind::all_reduce), 2 * kTensor);
  EXPECT_EQ(sent(l, l.backward, CollectiveKind::all_reduce), 2 * kTensor);
  EXPECT_EQ(sent(l, l.forward, CollectiveKind::all_gather) + sent(l, l.backward, CollectiveKind::all_gather), 0);
}

TEST(Block, UnderSequenceParallelGathersAndScattersTwiceAndGathersTheInputsAgain) {
  // Korthikanti et al., arXiv 2205.05198, section 4.2.2: g is an all-gather forward and a reduce-scatter backward,
  // g-bar the other way; the gathered inputs of the two column-parallel layers are not kept but gathered again for the
  // weight gradient.
  const Layer l = layer(toy::job({.tp = 4, .sp = true}), Kind::none);
  EXPECT_EQ(sent(l, l.forward, CollectiveKind::all_gather), 2 * kTensor);
  EXPECT_EQ(sent(l, l.forward, CollectiveKind::reduce_scatter), 2 * kTensor);
  EXPECT_EQ(sent(l, l.backward, CollectiveKind::all_gather), (2 + 2) * kTensor);
  EXPECT_EQ(sent(l, l.backward, CollectiveKind::reduce_scatter), 2 * kTensor);
  EXPECT_EQ(sent(l, l.forward, CollectiveKind::all_reduce) + sent(l, l.backward, CollectiveKind::all_reduce), 0);
}

TEST(Block, UnderFullRecomputeSendsTheForwardAgain) {
  const Layer l = layer(toy::job({.tp = 4}), Kind::full);
  EXPECT_EQ(sent(l, l.backward, CollectiveKind::all_reduce), (2 + 2) * kTensor);
}

spec::Job stopping(std::function<void(spec::Job&)> change = [](spec::Job&) {}) {
  return toy::job({.tp = 4, .sp = true}, [&](spec::Job& j) {
    j.framework.stops_recompute = true;
    change(j);
  });
}

TEST(Block, FullRecomputeMayEndWhereNothingMoreIsRead) {
  // Without the last matmul, 2 b s (4 h) h over 4 ranks, its reduce-scatter and its residual.
  const Layer l = layer(stopping(), Kind::full);
  const double forward = flops(l, l.forward, Phase::forward), down = 2.0 * 128 * 4 * 256 * 256 / 4;
  EXPECT_EQ(flops(l, l.backward, Phase::recompute), forward - down);
  EXPECT_EQ(sent(l, l.backward, CollectiveKind::reduce_scatter), (1 + 2) * kTensor);
  EXPECT_EQ(named(l, l.backward, "residual add"), 1);
  EXPECT_EQ(named(l, l.backward, "activation"), 2);
  // The forward itself is whole.
  EXPECT_EQ(sent(l, l.forward, CollectiveKind::reduce_scatter), 2 * kTensor);
}

TEST(Block, FullRecomputeGoesOnWhereWhatFollowsIsRead) {
  const auto stops = [](std::function<void(spec::Job&)> change) {
    const spec::Job j = stopping(change);
    return plan::stops_recompute(plan::Context(j), 0);
  };
  const auto fp8 = [](bool compiled) {
    return [compiled](spec::Job& j) {
      j.cluster.node.gpu.peak[static_cast<int>(spec::Dtype::fp8)] = base::TFLOPps(2000);
      j.training.precision = spec::Dtype::fp8;
      j.strategy.compile = compiled;
    };
  };
  EXPECT_TRUE(stops([](spec::Job&) {}));
  EXPECT_FALSE(stops([](spec::Job& j) { j.framework.stops_recompute = false; }));
  EXPECT_FALSE(stops([](spec::Job& j) { j.training.dropout = 0.1; }));                              // its mask
  EXPECT_FALSE(stops([](spec::Job& j) { j.model.post_norms = true; }));                             // its input
  EXPECT_FALSE(stops([](spec::Job& j) { j.strategy.lora = spec::Lora{.rank = 8, .ffn = true}; }));  // x A
  EXPECT_FALSE(stops(fp8(false)));
  EXPECT_TRUE(stops(fp8(true)));
}

TEST(Block, UnderSelectiveRecomputeSendsNothingMore) {
  const Layer l = layer(toy::job({.tp = 4}), Kind::selective);
  EXPECT_EQ(sent(l, l.backward, CollectiveKind::all_reduce), 2 * kTensor);
}

Layer parallel_branches(int norms, bool sp) {
  return layer(toy::job({.tp = 4, .sp = sp},
                        [norms](spec::Job& j) {
                          j.model.parallel_block = true;
                          j.model.norms_in_parallel = norms;
                        }),
               Kind::none);
}

TEST(Block, WithParallelBranchesReducesTheirSumOnce) {
  // Backward, gradients behind two norms cannot be added before each norm has been passed, so each is reduced.
  for (const int norms : {1, 2}) {
    const Layer l = parallel_branches(norms, false);
    EXPECT_EQ(sent(l, l.forward, CollectiveKind::all_reduce), kTensor);
    EXPECT_EQ(sent(l, l.backward, CollectiveKind::all_reduce), norms * kTensor);
  }
}

TEST(Block, WithParallelBranchesGathersWhatEachNormMade) {
  // Backward: the gradient of the sum once, each norm's result again.
  for (const int norms : {1, 2}) {
    const Layer l = parallel_branches(norms, true);
    EXPECT_EQ(sent(l, l.forward, CollectiveKind::all_gather), norms * kTensor);
    EXPECT_EQ(sent(l, l.forward, CollectiveKind::reduce_scatter), kTensor);
    EXPECT_EQ(sent(l, l.backward, CollectiveKind::all_gather), (1 + norms) * kTensor);
    EXPECT_EQ(sent(l, l.backward, CollectiveKind::reduce_scatter), norms * kTensor);
  }
}

TEST(Block, HasAsManyNormsAndResidualsForwardAsBackward) {
  walk::Dice dice(15);
  for (int i = 0; i < 100; ++i) {
    const spec::Job j = walk::random_job(dice);
    const Layer l = layer(j, Kind::none);
    const spec::Model& m = j.model;
    const int between = m.parallel_block ? m.norms_in_parallel : 2 + (m.post_norms ? 2 : 0);
    EXPECT_EQ(named(l, l.forward, " norm"), between + (m.qk_norm ? 1 : 0)) << walk::told(j);
    EXPECT_EQ(named(l, l.backward, " norm gradient"), between + (m.qk_norm ? 1 : 0)) << walk::told(j);
    EXPECT_EQ(named(l, l.forward, "residual add"), 2);
    EXPECT_EQ(named(l, l.backward, "residual gradient"), 2);
  }
}

TEST(Block, WindowReachesOnlyTheLayersThatHaveIt) {
  const spec::Job j = toy::job({}, [](spec::Job& job) { job.model.window = 32; });
  for (const bool windowed : {false, true}) {
    const Layer l = layer(j, Kind::none, windowed);
    int kernels = 0;
    for (const plan::Work& work : l.plan.works) {
      const auto* attention = std::get_if<plan::Attention>(&work);
      if (!attention) continue;
      ++kernels;
      EXPECT_EQ(attention->window, windowed ? 32 : 0);
    }
    EXPECT_EQ(kernels, 2);  // forward and backward
  }
}

}  // namespace
