// tests/core/plan/vocabulary_test.cpp -- a vocabulary cut over the stages: what each holds, runs and sends.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/vocabulary.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "tests/core/plan/walk.h"

namespace {

using plan::Category;
using plan::Pass;
using plan::Slot;

spec::Job spread(
    const toy::Cut& cut, const std::function<void(spec::Job&)>& change = [](spec::Job&) {}) {
  return toy::job(cut, [&](spec::Job& j) {
    j.strategy.vocab_parallel = spec::VocabParallel::pipeline;
    change(j);
  });
}

TEST(Vocabulary, EveryStageHoldsAsManyRowsOfEmbeddingAndHead) {
  // 4 stages of one layer: 2048 rows of 256 numbers, a quarter each, twice where the tables are not tied. The first
  // stage has 128 positions besides, the last one a norm of 2 x 256.
  for (const bool tied : {false, true}) {
    const spec::Job j = spread({.pp = 4}, [&](spec::Job& b) { b.model.tied_embeddings = tied; });
    const plan::Context c(j);
    EXPECT_EQ(plan::vocabulary_share(c), (tied ? 1 : 2) * 512 * 256);
    const plan::Plan p = plan::build(j);
    const auto held = [&](int stage, Category k) { return p.roles[stage].resident[static_cast<int>(k)]; };
    for (const auto& [category, bytes] : {std::pair{Category::parameters, 2}, {Category::optimizer, 12}}) {
      EXPECT_EQ(held(1, category), held(2, category));
      EXPECT_EQ(held(0, category) - held(1, category), 128 * 256 * bytes);
      EXPECT_EQ(held(3, category) - held(1, category), 2 * 256 * bytes);
    }
  }
}

TEST(Vocabulary, AllParametersAreHeldOnce) {
  const auto all = [](const spec::Job& j) {
    std::int64_t sum = 0;
    for (const plan::Role& role : plan::build(j).roles) sum += role.resident[static_cast<int>(Category::parameters)];
    return sum;
  };
  EXPECT_EQ(all(spread({.pp = 4})), all(toy::job({.pp = 4})));
}

TEST(Vocabulary, AMicrobatchSendsItsStatesToAllAndTheirGradientBack) {
  // 128 tokens of 256 numbers of 2 bytes; statistics of 4 + 8 bytes a token.
  for (const int barriers : {1, 2}) {
    const spec::Job j =
        spread({.pp = 4, .microbatches = 3}, [&](spec::Job& b) { b.strategy.vocab_barriers = barriers; });
    const plan::Plan p = plan::build(j);
    for (const plan::Role& role : p.roles) {
      EXPECT_EQ(walk::collective_bytes(p, role, "normed states broadcast"), 3 * 128 * 256 * 2);
      EXPECT_EQ(walk::collective_bytes(p, role, "states gradient reduce"), 3 * 128 * 256 * 2);
      EXPECT_EQ(walk::collective_bytes(p, role, "embedding reduce"), 3 * 128 * 256 * 2);
      EXPECT_EQ(walk::collective_bytes(p, role, "embedding gradient broadcast"), 3 * 128 * 256 * 2);
      EXPECT_EQ(walk::collective_bytes(p, role, "all-reduce over stages"), 3 * 128 * 12);
    }
  }
}

TEST(Vocabulary, StagesShareTheHeadsMatmulsAndNoneIsLost) {
  // One barrier subtracts the target rows in a pass of its own, which is no matmul.
  const double whole = walk::flops(plan::build(toy::job({.pp = 4, .microbatches = 3})));
  for (const int barriers : {1, 2}) {
    const spec::Job j =
        spread({.pp = 4, .microbatches = 3}, [&](spec::Job& b) { b.strategy.vocab_barriers = barriers; });
    EXPECT_DOUBLE_EQ(walk::flops(plan::build(j)), whole);
  }
}

TEST(Vocabulary, HoldsNothingAfterAStep) {
  walk::Dice dice(41);
  for (int n = 0; n < 40; ++n) {
    const int pp = dice.of({2, 4}), vpp = dice.of({1, 1, 2});
    const spec::Job j = spread({.tp = dice.of({1, 2}),
                                .sp = dice.coin(),
                                .pp = pp,
                                .vpp = vpp,
                                .dp = dice.of({1, 2}),
                                .zero = dice.of({0, 1}),
                                .microbatches = pp * dice.of({1, 2, 3})},
                               [&](spec::Job& b) {
                                 b.model.layers = pp * vpp;
                                 b.model.tied_embeddings = dice.coin();
                                 b.strategy.vocab_barriers = dice.of({1, 2});
                                 b.framework.fused.cross_entropy = dice.coin();
                                 b.strategy.overlap.grad_reduce = dice.coin();
                                 b.strategy.overlap.param_gather = dice.coin();
                               });
    const plan::Plan p = plan::build(j);
    for (const plan::Role& role : p.roles) {
      std::int64_t now = 0;
      for (const plan::Call& call : role.calls) {
        for (const plan::MemoryChange& change : p.segments[call.segment].memory) {
          now += change.bytes;
          ASSERT_GE(now, 0);
          ASSERT_LT(change.at, static_cast<std::int32_t>(p.segments[call.segment].operators.size()));
        }
      }
      ASSERT_EQ(now, 0) << walk::told(j) << " stage " << role.stage;
    }
  }
}

/// What must have been run before a slot, on which stages (-1: all).
using Done = std::set<std::tuple<Pass, int, int>>;  // pass, microbatch, stage or place

/// Runs the orders stage by stage for as long as any can go on; true when all slots were run.
bool runs_through(const std::vector<std::vector<Slot>>& orders, const spec::Placement& places, int barriers) {
  const int stages = static_cast<int>(orders.size()), last = places.places() - 1;
  std::vector<std::size_t> next(stages);
  Done done;
  const auto all = [&](Pass pass, int m) {
    for (int s = 0; s < stages; ++s) {
      if (!done.contains({pass, m, s})) return false;
    }
    return true;
  };
  const auto possible = [&](int s, const Slot& slot) {
    const int m = slot.microbatch, place = places.place(s, slot.chunk);
    switch (slot.pass) {
      case Pass::look_up: return true;
      case Pass::logits: return done.contains({Pass::forward, m, last});
      case Pass::logits_gradient: return all(Pass::logits, m);
      case Pass::rows_gradient: return done.contains({Pass::backward, m, 0});
      case Pass::forward: return place == 0 ? all(Pass::look_up, m) : done.contains({Pass::forward, m, place - 1});
      default:
        if (place < last) return done.contains({Pass::backward, m, place + 1});
        return all(barriers == 1 ? Pass::logits : Pass::logits_gradient, m);
    }
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (int s = 0; s < stages; ++s) {
      if (next[s] == orders[s].size() || !possible(s, orders[s][next[s]])) continue;
      const Slot& slot = orders[s][next[s]++];
      done.insert({slot.pass, slot.microbatch, plan::of_vocabulary(slot.pass) ? s : places.place(s, slot.chunk)});
      moved = true;
    }
  }
  for (int s = 0; s < stages; ++s) {
    if (next[s] < orders[s].size()) return false;
  }
  return true;
}

TEST(Vocabulary, RandomOrdersRunThroughAndMeetInOneOrder) {
  walk::Dice dice(42);
  for (int n = 0; n < 150; ++n) {
    const int stages = dice.of({2, 3, 4, 8}), chunks = dice.of({1, 1, 2, 3}), barriers = dice.of({1, 2});
    const int microbatches = chunks > 1 ? stages * dice.of({1, 2, 4}) : dice.of({1, 2, 5, 16, 40});
    const auto schedule = chunks > 1 ? spec::Schedule::interleaved : spec::Schedule::one_f_one_b;
    const auto orders = plan::with_vocabulary(schedule, {0, stages, chunks, microbatches},
                                              {barriers, dice.of({0.01, 0.3, 2.0}), dice.of({2.0, 3.0})});
    ASSERT_TRUE(runs_through(orders, spec::Placement(spec::traits_of(schedule).shape, stages, chunks), barriers)) << n;
    const auto shared = [](const std::vector<Slot>& slots) {
      std::vector<Slot> out;
      for (const Slot& slot : slots) {
        if (plan::of_vocabulary(slot.pass)) out.push_back(slot);
      }
      return out;
    };
    ASSERT_EQ(shared(orders[0]).size(), 4u * microbatches);
    for (const auto& slots : orders) {
      ASSERT_EQ(shared(slots), shared(orders[0])) << n;
      ASSERT_EQ(slots.size(), (4u + 2 * chunks) * microbatches);
    }
  }
}

TEST(Vocabulary, HoldsAsManyMicrobatchesMoreAsThereAreBarriers) {
  // The paper's p + 2 and p + 1 on the first of p stages.
  for (const int barriers : {1, 2}) {
    const auto orders = plan::with_vocabulary(spec::Schedule::one_f_one_b, {0, 8, 1, 64}, {barriers, 0.3, 2});
    int now = 0, most = 0;
    for (const Slot& slot : orders[0]) {
      now += slot.pass == Pass::forward ? 1 : slot.pass == Pass::backward ? -1 : 0;
      most = std::max(most, now);
    }
    EXPECT_EQ(most, 8 + barriers);
  }
}

TEST(Vocabulary, WhatDoesNotGoTogetherIsRefusedByName) {
  const auto field = [](const toy::Cut& cut, auto change) {
    spec::Job j = toy::draft(cut);
    j.strategy.vocab_parallel = spec::VocabParallel::pipeline;
    change(j);
    const std::vector<base::Fault> faults = spec::check(j);
    return faults.empty() ? "" : faults.front().field;
  };
  const auto nothing = [](spec::Job&) {};
  EXPECT_EQ(field({.pp = 2}, nothing), "");
  EXPECT_EQ(field({}, nothing), "strategy.vocab_parallel");
  EXPECT_EQ(field({.pp = 2, .schedule = spec::Schedule::gpipe}, nothing), "strategy.schedule");
  EXPECT_EQ(field({.pp = 2, .schedule = spec::Schedule::zb_v}, nothing), "strategy.schedule");
  EXPECT_EQ(field({.pp = 2, .dp = 2, .zero = 3}, nothing), "strategy.zero");
  EXPECT_EQ(field({.pp = 2}, [](spec::Job& j) { j.model.mtp = 1; }), "model.mtp");
  EXPECT_EQ(field({.pp = 2}, [](spec::Job& j) { j.strategy.overlap.p2p = false; }), "strategy.overlap.p2p");
  EXPECT_EQ(field({.pp = 2}, [](spec::Job& j) { j.training.mode = spec::Mode::decode; }), "strategy.vocab_parallel");
}

}  // namespace
