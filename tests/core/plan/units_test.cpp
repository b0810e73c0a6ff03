// tests/core/plan/units_test.cpp -- what zero 2 and 3 gather, scatter and hold on the way.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/units.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/core/plan/walk.h"

namespace {

using plan::Stream;

spec::Job job(int dp, std::int64_t microbatches, spec::Fsdp fsdp = {}, int pp = 1) {
  return toy::job({.pp = pp, .dp = dp, .zero = 3, .microbatches = microbatches}, [&](spec::Job& j) {
    j.strategy.fsdp = fsdp;
    j.strategy.fsdp_given = true;
    j.strategy.overlap.grad_reduce = j.strategy.overlap.param_gather = true;
    j.training.gradient_dtype = spec::Dtype::bf16;
  });
}

struct Sizes {
  std::int64_t root, layer, all;  // parameters
};
Sizes sizes(const spec::Job& j) {
  const plan::Context c(j);
  const std::int64_t layer = plan::layer_parameters(c, 0).total();
  const std::int64_t root = plan::embedding_parameters(c) + plan::head_parameters(c);
  return {root, layer, root + j.model.layers * layer};
}

std::int64_t gathered(const plan::Plan& p, const plan::Role& role) {
  return walk::collective_bytes(p, role, "unit all-gather");
}

TEST(Units, GatherForBothPassesOfEachMicrobatch) {
  // One stage, 4 layers: everything in the forward; in the backward all but the root and the last block, which stay.
  for (const std::int64_t m : {1, 3}) {
    const spec::Job j = job(2, m);
    const Sizes s = sizes(j);
    const plan::Plan p = plan::build(j);
    EXPECT_EQ(gathered(p, p.roles[0]), 2 * m * (s.all + 3 * s.layer));
    EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "gradient reduce-scatter"), 2 * m * s.all);
  }
}

TEST(Units, LetTheHostWaitForEachMicrobatch) {
  // For its loss at any stage of ZeRO; for its reductions under zero 3.
  const auto waits = [](int zero, bool loss, const char* name) {
    const spec::Job j = toy::job({.dp = 2, .zero = zero, .microbatches = 3}, [&](spec::Job& job) {
      job.framework.reads_each_loss = loss;
      job.framework.awaits_units = !loss;
    });
    const plan::Plan p = plan::build(j);
    return walk::count(p, p.roles[0], name);
  };
  EXPECT_EQ(waits(0, true, "loss read by the host"), 3);
  EXPECT_EQ(waits(3, true, "loss read by the host"), 3);
  EXPECT_EQ(waits(3, false, "reductions awaited by the host"), 3);
  EXPECT_EQ(waits(1, false, "reductions awaited by the host"), 0);
}

TEST(Units, SendHalfAsMuchAgainAsPlainDataParallelism) {
  // One dtype and microbatch; an all-reduce counts twice its bytes. A block is gathered twice and scattered once; what
  // stays, the root and without a pipeline the last block, is gathered once: 3 P - stays against 2 P.
  walk::Dice dice(5);
  for (int n = 0; n < 60; ++n) {
    const int pp = dice.of({1, 2, 4}), dp = dice.of({2, 4, 8});
    spec::Job j = job(dp, 1, {}, pp);
    j.model.layers = pp * (1 + dice.below(3));
    j.model.kv_heads = dice.of({1, 4, 8});
    j.model.gated_mlp = dice.coin();
    spec::Job plain = j;
    plain.strategy.zero = 0;
    const plan::Context c(j);
    const plan::Plan p = plan::build(j), ddp = plan::build(plain);
    for (int stage = 0; stage < pp; ++stage) {
      std::int64_t stays = pp == 1 ? plan::layer_parameters(c, 0).total() : 0;
      if (stage == 0) stays += plan::embedding_parameters(c);
      if (stage + 1 == pp) stays += plan::head_parameters(c);
      const std::int64_t sharded =
          gathered(p, p.roles[stage]) + walk::collective_bytes(p, p.roles[stage], "gradient reduce-scatter");
      const std::int64_t all = walk::collective_bytes(ddp, ddp.roles[stage], "gradient all-reduce");
      EXPECT_EQ(2 * (sharded + 2 * stays), 3 * 2 * all) << walk::told(j) << stage;
    }
  }
}

TEST(Units, ThatStayAreGatheredOnceAMicrobatchOrOnceAStep) {
  const spec::Fsdp stays{.reshard = false};
  const spec::Job one = job(2, 3, stays);
  const plan::Plan p = plan::build(one);
  EXPECT_EQ(gathered(p, p.roles[0]), 3 * 2 * sizes(one).all);
  // Several microbatches are in flight in a pipeline: what stays serves them all.
  const spec::Job staged = job(2, 3, stays, 2);
  const plan::Plan q = plan::build(staged);
  std::int64_t sum = 0;
  for (const plan::Role& role : q.roles) sum += gathered(q, role);
  EXPECT_EQ(sum, 2 * sizes(staged).all);
}

TEST(Units, WithoutSyncScatterInTheLastMicrobatchAlone) {
  const spec::Job j = job(2, 3, {.sync_each_microbatch = false});
  const plan::Plan p = plan::build(j);
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "gradient reduce-scatter"), 2 * sizes(j).all);
}

TEST(Units, OfZeroTwoScatterEachMicrobatchAndGatherOnce) {
  spec::Job j = job(2, 3);
  j.strategy.zero = 2;
  const plan::Plan p = plan::build(j);
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "gradient reduce-scatter"), 3 * 2 * sizes(j).all);
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "parameter all-gather"), 2 * sizes(j).all);
  EXPECT_EQ(gathered(p, p.roles[0]), 0);
}

TEST(Units, OfAHybridStayInsideTheShardGroupAndSumAcross) {
  // 16 ranks in groups of 8 (a node): across nodes only 1/8 of the gradients travels, as an all-reduce.
  spec::Job j = job(16, 1);
  j.strategy.shard = 8;
  const plan::Plan p = plan::build(j);
  const std::int64_t across = walk::collective_bytes(p, p.roles[0], "gradient shard all-reduce");
  const std::int64_t inside = walk::collective_bytes(p, p.roles[0], "gradient reduce-scatter");
  EXPECT_EQ(8 * across, inside);
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const plan::Collective* work = walk::collective(p, op);
    if (!work || op.channel < 0 || p.channels[op.channel].kind != plan::Channel::Kind::group) return;
    const bool replicas = op.stream == Stream::replicate;
    EXPECT_EQ(p.channels[op.channel].axis, replicas ? plan::Axis::replicate : plan::Axis::shard);
    EXPECT_EQ(work->group.size, replicas ? 2 : 8);
    EXPECT_EQ(work->group.domains, replicas ? 2 : 1);
  });
}

TEST(Units, OfAHybridSumAcrossInTheLastMicrobatchWhereTheFrameworkDoes) {
  // 3 microbatches: each scatters inside its group of 8, and the last one alone sums the shards, 1/8 of it, across.
  spec::Job j = job(16, 3);
  j.strategy.shard = 8;
  j.framework.sums_replicas_last = true;
  const plan::Plan p = plan::build(j);
  const std::int64_t across = walk::collective_bytes(p, p.roles[0], "gradient shard all-reduce");
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "gradient reduce-scatter"), 3 * 8 * across);
}

TEST(Units, OfAHybridsExpertsWithoutAShardSumAcrossInTheLastMicrobatchToo) {
  // Each rank of a group of 8 has an expert of its own, so that nothing is scattered; copies of it are on two nodes.
  const auto across = [](std::int64_t microbatches) {
    spec::Job j = job(16, microbatches);
    j.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 512};
    j.model.bias = false;
    j.strategy.ep = 8;
    j.strategy.shard = 8;
    j.framework.sums_replicas_last = true;
    const plan::Plan p = plan::build(j);
    std::int64_t bytes = 0;
    walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
      const plan::Collective* work = walk::collective(p, op);
      const bool experts = work && op.channel >= 0 && p.channels[op.channel].axis == plan::Axis::expert_replicate;
      if (experts) bytes += work->bytes;
    });
    return bytes;
  };
  EXPECT_GT(across(1), 0);
  EXPECT_EQ(across(3), across(1));
}

/// Whether compute of every layer finds its parameters, and whether a layer's gather may fly beside the compute of the
/// one before.
struct Order {
  bool arrived = true, ahead = false;
};
Order order(const plan::Plan& p, const plan::Role& role) {
  Order out;
  walk::HappensBefore before(p);
  std::map<int, int> gather;  // of a layer: the latest one
  int computed = -1;          // the latest operator of the layer before
  int computing = -1;
  walk::operators(p, role, [&](const plan::Call&, const plan::Operator& op) {
    const int at = before.issue(op);
    if (op.stream == Stream::gather) {
      gather[op.layer] = at;
      return;
    }
    if (op.stream != Stream::compute || op.layer < 0) return;
    if (const auto it = gather.find(op.layer); it == gather.end() || !before.before(it->second, at))
      out.arrived = false;
    if (op.layer != computing && computed >= 0 && gather[op.layer] > 0) {
      out.ahead = out.ahead || !before.before(computed, gather[op.layer]);
    }
    computing = op.layer;
    computed = at;
  });
  return out;
}

TEST(Units, AreGatheredBeforeTheyComputeWhateverThePrefetch) {
  for (const int pp : {1, 2}) {
    for (int prefetch = 0; prefetch <= 8; ++prefetch) {
      const plan::Plan p = plan::build(job(2, 4, {.prefetch = prefetch}, pp));
      for (const plan::Role& role : p.roles) EXPECT_TRUE(order(p, role).arrived) << pp << ' ' << prefetch;
    }
  }
}

/// Whether the first kernel of a unit may run beside the reduction of the unit before, which ends before the next one.
struct Reductions {
  bool beside = true, one_at_a_time = true;
};
Reductions reductions(const plan::Plan& p, const plan::Role& role) {
  Reductions out;
  walk::HappensBefore before(p);
  int latest = -1;  // reduction
  bool first = false;
  walk::operators(p, role, [&](const plan::Call&, const plan::Operator& op) {
    const int at = before.issue(op);
    if (op.phase != plan::Phase::backward) return;
    if (walk::collective(p, op) && op.stream == Stream::dp) {
      out.one_at_a_time = out.one_at_a_time && (latest < 0 || before.before(latest, at));
      latest = at;
      first = true;
    } else if (op.stream == Stream::compute && op.layer >= 0 && first) {
      out.beside = out.beside && !before.before(latest, at);
      first = false;
    }
  });
  return out;
}

TEST(Units, AreReducedBesideTheNextUnitsComputeWithACopyOfTheirGradientsOrWithout) {
  // With accumulation fused into the matmuls no copy of the gradients stands between the wait for the reduction before
  // and the next one.
  for (const bool fused : {false, true}) {
    spec::Job j = job(2, 1);
    j.strategy.fused_kernels.grad_accumulation = fused;
    const plan::Plan p = plan::build(j);
    const Reductions r = reductions(p, p.roles[0]);
    EXPECT_TRUE(r.beside) << fused;
    EXPECT_TRUE(r.one_at_a_time) << fused;
  }
}

TEST(Units, HoldTheGradientsThatFlyAndThoseBeingMade) {
  // 4 layers, bf16 gradients made in place: the head's from the begin of the backward to its end, a block's being made,
  // the block before's that its reduction reads; at the end the embedding's beside the first block's. A table that is
  // both has its gradients from the begin, and there are as many in all.
  for (const bool tied : {false, true}) {
    spec::Job j = job(2, 1);
    j.strategy.fused_kernels.grad_accumulation = true;
    j.model.tied_embeddings = tied;
    const Sizes s = sizes(j);
    const std::int64_t head = plan::head_parameters(plan::Context(j)), early = tied ? s.root : head;
    const plan::Plan p = plan::build(j);
    std::int64_t level = 0, most = 0, at_first_block = 0;
    for (const plan::Call& call : p.roles[0].calls) {
      for (const plan::MemoryChange& change : p.segments[call.segment].memory) {
        if (change.category != plan::Category::gradients) continue;
        most = std::max(most, level += change.bytes);
        if (level == 2 * (early + 2 * s.layer)) ++at_first_block;
      }
    }
    EXPECT_EQ(at_first_block, 3) << tied;  // blocks 2, 1 and 0, each beside the one before
    EXPECT_EQ(most, tied ? 2 * (s.root + 2 * s.layer) : std::max(2 * (s.root + s.layer), 2 * (early + 2 * s.layer)));
  }
}

TEST(Units, AreGatheredBesideTheUnitBefore) {
  const plan::Plan ahead = plan::build(job(2, 1, {.prefetch = 1}));
  EXPECT_TRUE(order(ahead, ahead.roles[0]).ahead);
  const plan::Plan behind = plan::build(job(2, 1, {.prefetch = 0}));
  EXPECT_FALSE(order(behind, behind.roles[0]).ahead);
  // One unit at a time leaves none to gather ahead.
  const plan::Plan limited = plan::build(job(2, 1, {.prefetch = 4, .limit_all_gathers = 1}));
  EXPECT_FALSE(order(limited, limited.roles[0]).ahead);
}

TEST(Units, GiveBackEverythingTheyTake) {
  walk::Dice dice(11);
  for (int n = 0; n < 200; ++n) {
    spec::Job j = walk::random_job(dice);
    j.strategy.zero = dice.from(2, 3);
    j.strategy.fsdp = {dice.below(3), dice.below(4), dice.below(3), dice.coin(), dice.coin()};
    j.framework.unit_copies = dice.coin();
    j.framework.bucketed_units = dice.coin();
    const plan::Plan p = plan::build(j);
    for (const plan::Role& role : p.roles) {
      std::array<std::int64_t, plan::kCategories> level{};
      for (const plan::Call& call : role.calls) {
        for (const plan::MemoryChange& change : p.segments[call.segment].memory) {
          level[static_cast<int>(change.category)] += change.bytes;
          ASSERT_GE(level[static_cast<int>(change.category)], 0) << walk::told(j);
        }
      }
      for (const std::int64_t left : level) EXPECT_EQ(left, 0) << walk::told(j);
    }
  }
}

TEST(Units, HoldAtMostTheComputingOneAndThoseAhead) {
  // Without copies the parameters' level is gathered units alone: the root and, with one ahead, two blocks.
  for (const int prefetch : {0, 1, 2}) {
    const spec::Job j = job(2, 1, {.prefetch = prefetch});
    const Sizes s = sizes(j);
    const plan::Plan p = plan::build(j);
    std::int64_t level = 0, most = 0;
    for (const plan::Call& call : p.roles[0].calls) {
      for (const plan::MemoryChange& change : p.segments[call.segment].memory) {
        if (change.category == plan::Category::parameters) most = std::max(most, level += change.bytes);
      }
    }
    EXPECT_EQ(most, 2 * (s.root + (prefetch + 1) * s.layer)) << prefetch;
  }
}

}  // namespace
