// tests/core/plan/context_parallel_test.cpp -- what each kind of context parallelism computes, sends and holds.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/context_parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/block.h"
#include "core/plan/flops.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::CollectiveKind;
using spec::CpBalance;
using spec::CpKind;

template <class Change>
spec::Job cut(int cp, CpKind kind, Change change, toy::Cut other = {}) {
  return toy::job(other, [&](spec::Job& j) {
    j.strategy.cp = cp;
    j.strategy.cp_kind = kind;
    j.cluster = toy::cluster(other.tp * cp * other.pp * other.dp);
    change(j);
  });
}
spec::Job cut(int cp, CpKind kind) {
  return cut(cp, kind, [](spec::Job&) {});
}

struct Core {
  walk::Pen forward, backward;
  explicit Core(const spec::Job& j, int layer = -1) {
    const plan::Context c(j);
    forward.out.layer = backward.out.layer = layer;
    plan::ContextParallel(c, forward.out, j.model.window > 0).forward();
    plan::ContextParallel(c, backward.out, j.model.window > 0).backward();
  }
};

std::int64_t sent(walk::Pen& pen, CollectiveKind kind) {
  std::int64_t sum = 0;
  const plan::Segment segment = plan::SegmentBuilder(pen.out).finish();
  for (const plan::Operator& op : segment.operators) {
    const auto* work = std::get_if<plan::Collective>(&pen.work(op));
    if (work && work->kind == kind) sum += work->bytes;
  }
  return sum;
}

double attention_flops(walk::Pen& pen) {
  double sum = 0;
  const plan::Segment segment = plan::SegmentBuilder(pen.out).finish();
  for (const plan::Operator& op : segment.operators) sum += plan::hardware_flops(pen.work(op));
  return sum;
}

// K and V of 1 token and head: 2 x 32 x 2 bytes; of the toy's 128 tokens and 8 heads: 131072.
constexpr std::int64_t kKeysAndValues = 131072;

TEST(ContextParallel, EveryKindComputesAsMuchOnEachRankAsTheWholeDividedByThem) {
  for (const CpKind kind : {CpKind::ring, CpKind::all_gather, CpKind::ulysses}) {
    for (const int cp : {2, 4, 8}) {
      const spec::Job j = cut(cp, kind);
      Core core(j);
      const double whole = plan::forward_flops(j.model, j.training.sequence).attention;
      EXPECT_DOUBLE_EQ(attention_flops(core.forward) * cp, whole) << static_cast<int>(kind) << " cp " << cp;
      EXPECT_DOUBLE_EQ(attention_flops(core.backward) * cp, 2.5 * whole) << static_cast<int>(kind) << " cp " << cp;
    }
  }
}

TEST(ContextParallel, PackedDocumentsComputeWhatTheyDoUncutDividedByTheRanks) {
  // 4 documents of 32 tokens: a quarter of the whole sequence's pairs. 2 x 8 chunks of 2 tokens each.
  for (const CpKind kind : {CpKind::ring, CpKind::all_gather, CpKind::ulysses}) {
    for (const int cp : {2, 4, 8}) {
      const spec::Job j = cut(cp, kind, [](spec::Job& b) { b.training.packing = spec::Packing{{}, 32, 0}; });
      Core core(j);
      const double whole = plan::forward_flops(j.model, j.training.sequence).attention / 4;
      EXPECT_DOUBLE_EQ(attention_flops(core.forward) * cp, whole) << static_cast<int>(kind) << " cp " << cp;
      EXPECT_DOUBLE_EQ(attention_flops(core.backward) * cp, 2.5 * whole) << static_cast<int>(kind) << " cp " << cp;
    }
  }
}

TEST(ContextParallel, ARingPadsADocumentToItsChunks) {
  // 28 tokens on 4 ranks: 8 chunks of 4, so 32: each token sees 16 others' worth where it saw 14.
  const auto packed = [](std::int64_t mean) {
    return cut(4, CpKind::ring, [&](spec::Job& b) { b.training.packing = spec::Packing{{}, mean, 0}; });
  };
  Core padded(packed(28)), divides(packed(32));
  EXPECT_DOUBLE_EQ(attention_flops(padded.forward), attention_flops(divides.forward));
}

TEST(ContextParallel, PackedDocumentsTravelAsAWholeSequenceDoes) {
  for (const CpKind kind : {CpKind::ring, CpKind::all_gather}) {
    Core packed(cut(4, kind, [](spec::Job& b) { b.training.packing = spec::Packing{{}, 32, 0}; }));
    Core whole(cut(4, kind));
    for (const CollectiveKind way : {CollectiveKind::shift, CollectiveKind::all_gather}) {
      EXPECT_EQ(sent(packed.forward, way), sent(whole.forward, way));
    }
  }
}

TEST(ContextParallel, WithoutBalanceTheLastRankRules) {
  // n = s/cp: n^2/2 of its own and n^2 for each of the others, against s^2/2 in all: (2 cp - 1) / cp^2 of the whole.
  for (const CpKind kind : {CpKind::ring, CpKind::all_gather}) {
    const spec::Job j = cut(4, kind, [](spec::Job& b) { b.strategy.cp_balance = CpBalance::none; });
    Core core(j);
    const double whole = plan::forward_flops(j.model, j.training.sequence).attention;
    EXPECT_DOUBLE_EQ(attention_flops(core.forward), whole * 7 / 16) << static_cast<int>(kind);
  }
}

TEST(ContextParallel, AWindowLeavesTheBandOfTheLastRank) {
  // Parts of 32, window 32: the last part's band is 32 x 32 pairs, half of them in its own part.
  for (const CpKind kind : {CpKind::ring, CpKind::all_gather}) {
    const spec::Job j = cut(4, kind, [](spec::Job& b) {
      b.strategy.cp_balance = CpBalance::none;
      b.model.window = 32;
    });
    Core core(j);
    EXPECT_DOUBLE_EQ(attention_flops(core.forward), 4.0 * 8 * 32 * 32 * 32) << static_cast<int>(kind);
  }
}

TEST(ContextParallel, ARingSendsKeysAndValuesToAllOthersAndTheirGradientsBack) {
  for (const int cp : {2, 4, 8}) {
    Core core(cut(cp, CpKind::ring));
    EXPECT_EQ(sent(core.forward, CollectiveKind::shift), (cp - 1) * kKeysAndValues / cp);
    EXPECT_EQ(sent(core.backward, CollectiveKind::shift), 2 * (cp - 1) * kKeysAndValues / cp);
  }
}

TEST(ContextParallel, KeysAndValuesInFp8AreHalfAsManyBytesAndTheirGradientsAreNot) {
  const auto narrow = [](spec::Job& j) {
    j.cluster.node.gpu.generation = spec::Generation::blackwell;
    j.cluster.node.gpu.peak[static_cast<int>(spec::Dtype::fp8)] = base::TFLOPps(2000);
    j.training.precision = spec::Dtype::fp8;
    j.training.fp8_attention = true;
    j.strategy.attention_kernel = spec::AttentionKernel::cudnn;
    j.framework.keeps_casts = true;
  };
  const spec::Job ring_job = cut(4, CpKind::ring, narrow), gather_job = cut(4, CpKind::all_gather, narrow),
                  trade_job = cut(4, CpKind::ulysses, narrow);
  Core ring(ring_job, 0), gathered(gather_job, 0), traded(trade_job, 0);
  EXPECT_EQ(sent(ring.forward, CollectiveKind::shift), 3 * kKeysAndValues / 4 / 2);
  EXPECT_EQ(sent(ring.backward, CollectiveKind::shift), 3 * (kKeysAndValues / 2 + kKeysAndValues) / 4);
  EXPECT_EQ(sent(gathered.forward, CollectiveKind::all_gather), kKeysAndValues / 2);
  EXPECT_EQ(sent(gathered.backward, CollectiveKind::all_gather), kKeysAndValues / 2);
  EXPECT_EQ(sent(gathered.backward, CollectiveKind::reduce_scatter), kKeysAndValues);
  // Queries, keys and values there, half a K and V each; the output, half of it, comes back in 16 bits.
  EXPECT_EQ(sent(traded.forward, CollectiveKind::all_to_all), (3 * kKeysAndValues / 2 / 2 + kKeysAndValues / 2) / 4);
  // Its gradient goes as it was cast; those of queries, keys and values come back in 16 bits.
  EXPECT_EQ(sent(traded.backward, CollectiveKind::all_to_all), (kKeysAndValues / 2 / 2 + 3 * kKeysAndValues / 2) / 4);
}

TEST(ContextParallel, AWindowOfOnePartAsksNoneButTheNeighbour) {
  Core core(cut(4, CpKind::ring, [](spec::Job& b) {
    b.strategy.cp_balance = CpBalance::none;
    b.model.window = 32;
  }));
  EXPECT_EQ(sent(core.forward, CollectiveKind::shift), kKeysAndValues / 4);
}

TEST(ContextParallel, GatheringSendsKeysAndValuesTwiceAndTheirGradientsOnce) {
  Core core(cut(4, CpKind::all_gather));
  EXPECT_EQ(sent(core.forward, CollectiveKind::all_gather), kKeysAndValues);
  EXPECT_EQ(sent(core.backward, CollectiveKind::all_gather), kKeysAndValues);
  EXPECT_EQ(sent(core.backward, CollectiveKind::reduce_scatter), kKeysAndValues);
}

TEST(ContextParallel, UlyssesMovesLessThanGatheringWhenThereAreMoreRanksThanOneAndTheQueriesOfAKey) {
  // A rank sends (cp - 1)/cp of its (2 heads + 2 kv_heads) s/cp, or receives 2 kv_heads s (cp - 1)/cp: less when
  // cp > 1 + heads/kv_heads.
  for (const int kv_heads : {8, 4, 2}) {
    for (const int cp : {2, 4, 8}) {
      if (kv_heads < cp) continue;  // K and V would be copied
      const auto grouped = [&](spec::Job& j) { j.model.kv_heads = kv_heads; };
      Core ulysses(cut(cp, CpKind::ulysses, grouped)), gathered(cut(cp, CpKind::all_gather, grouped));
      const bool less =
          sent(ulysses.forward, CollectiveKind::all_to_all) < sent(gathered.forward, CollectiveKind::all_gather);
      EXPECT_EQ(less, cp > 1 + 8 / kv_heads) << "kv_heads " << kv_heads << " cp " << cp;
    }
  }
}

TEST(ContextParallel, UlyssesCopiesKeysThatAreFewerThanRanks) {
  // 8 heads and 1 kv_head over 4 ranks: queries and outputs 8 heads, keys and values 4 each, of 32 tokens x 32 x 2.
  Core core(cut(4, CpKind::ulysses, [](spec::Job& j) { j.model.kv_heads = 1; }));
  EXPECT_EQ(sent(core.forward, CollectiveKind::all_to_all), (2 * 8 + 2 * 4) * 32 * 32 * 2);
}

TEST(ContextParallel, UlyssesPadsHeadsThatDoNotDivide) {
  // 12 heads over 8 ranks are two on each: 16 instead of 12 in every trade, in the kernel and in what is kept of it.
  const auto heads = [](int count) {
    return [=](spec::Job& j) {
      j.framework.ulysses_heads = spec::UlyssesHeads::padded;
      j.model.heads = j.model.kv_heads = count;
    };
  };
  const spec::Job uneven = cut(8, CpKind::ulysses, heads(12)), even = cut(8, CpKind::ulysses, heads(16));
  Core padded(uneven), whole(even);
  EXPECT_EQ(sent(padded.forward, CollectiveKind::all_to_all), sent(whole.forward, CollectiveKind::all_to_all));
  EXPECT_EQ(sent(padded.backward, CollectiveKind::all_to_all), sent(whole.backward, CollectiveKind::all_to_all));
  EXPECT_DOUBLE_EQ(attention_flops(padded.forward), attention_flops(whole.forward));
  // Beside the 12 heads of q, k, v and o and the statistics of 12 rows: o again, and 4 dummies of q, k, v, o.
  const std::int64_t of_a_head = 16 * 32 * 2;  // 16 tokens
  EXPECT_EQ(plan::kept_for_context_parallel(plan::Context(uneven)), (12 + 4 * 4) * of_a_head);
  EXPECT_THAT(uneven.assumptions, testing::Contains("heads: 16 (dummy heads beside 12, for cp_kind: ulysses over 8)"));
}

TEST(ContextParallel, DividesTheActivationsOfALayer) {
  const std::int64_t whole = plan::kept_activations(plan::Context(toy::job()), spec::Recompute::Kind::none).total();
  for (const CpKind kind : {CpKind::ring, CpKind::all_gather}) {
    const spec::Job j = cut(4, kind);
    EXPECT_EQ(plan::kept_activations(plan::Context(j), spec::Recompute::Kind::none).total(), whole / 4);
  }
  // Ulysses keeps the kernel's output beside the projection's input: 32 tokens x 256 x 2 bytes more.
  const spec::Job j = cut(4, CpKind::ulysses);
  EXPECT_EQ(plan::kept_activations(plan::Context(j), spec::Recompute::Kind::none).total(), whole / 4 + 32 * 256 * 2);
}

TEST(ContextParallel, ReducesGradientsOverItsRanksToo) {
  const spec::Job j = cut(4, CpKind::ring, [](spec::Job&) {}, {.dp = 2});
  const plan::Plan p = plan::build(j);
  int seen = 0;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const plan::Collective* work = walk::collective(p, op);
    if (!work || p.names[op.name] != "gradient all-reduce") return;
    ++seen;
    EXPECT_EQ(work->group.size, 8);
  });
  EXPECT_GT(seen, 0);
}

TEST(ContextParallel, HoldsNothingAfterAForwardAndItsBackward) {
  walk::Dice dice(33);
  for (int n = 0; n < 60; ++n) {
    const spec::Job j = cut(dice.of({2, 4}), dice.of({CpKind::ring, CpKind::all_gather, CpKind::ulysses}),
                            [&](spec::Job& b) {
                              b.strategy.cp_balance = dice.coin() ? CpBalance::zigzag : CpBalance::none;
                              b.model.causal = dice.coin();
                              b.model.window = dice.of({0, 8, 40});
                              b.model.kv_heads = dice.of({8, 2});
                            },
                            {.tp = dice.of({1, 2}), .sp = true});
    Core core(j);
    for (walk::Pen* pen : {&core.forward, &core.backward}) {
      std::int64_t now = 0;
      for (const plan::MemoryChange& change : pen->out.finish().memory) {
        now += change.bytes;
        EXPECT_GE(now, 0);
      }
      EXPECT_EQ(now, 0) << n;
    }
  }
}

}  // namespace
