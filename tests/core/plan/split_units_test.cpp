// tests/core/plan/split_units_test.cpp -- zero 2 and 3 where weight gradients run apart or the pipeline is fed from
// both ends: the pass of the inputs gathers, that of the weights scatters. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/units.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Call;
using plan::Operator;
using plan::Plan;
using plan::Role;
using plan::Stream;
using spec::Schedule;

constexpr std::array kSplit{Schedule::zb_h1, Schedule::zb_h2, Schedule::zb_v};
constexpr std::array kAll{Schedule::zb_h1, Schedule::zb_h2, Schedule::zb_v, Schedule::dualpipe};

/// On 2 stages, bf16 throughout, so that a parameter and its gradient are two bytes each.
spec::Job job(Schedule schedule, int zero, std::int64_t microbatches, spec::Fsdp fsdp = {}, bool tied = false,
              int layers = 8) {
  return toy::job({.pp = 2, .dp = 2, .zero = zero, .microbatches = microbatches, .schedule = schedule},
                  [&](spec::Job& j) {
                    j.model.layers = layers;
                    j.model.tied_embeddings = tied;
                    j.strategy.fsdp = fsdp;
                    j.strategy.fsdp_given = zero == 3;
                    j.strategy.overlap.grad_reduce = j.strategy.overlap.param_gather = true;
                    j.training.gradient_dtype = spec::Dtype::bf16;
                  });
}

/// Of both ends of the model that a stage holds.
std::int64_t root(const spec::Job& j, const Role& role) {
  const plan::Context c(j);
  std::int64_t sum = 0;
  const std::vector<std::vector<plan::Chunk>> stages = plan::chunks_of(c);
  for (const plan::Chunk& chunk : stages[role.stage]) sum += plan::UnitCut(c, chunk).root().total();
  return sum;
}

bool ends_with(const Plan& p, const Call& call, const char* what) {
  return p.segments[call.segment].name.ends_with(what);
}

/// A call's pass of weight gradients reads no parameters, its pass of inputs completes no gradient.
void expect_passes_apart(const Plan& p) {
  for (const Role& role : p.roles) {
    walk::operators(p, role, [&](const Call& call, const Operator& op) {
      EXPECT_FALSE(op.stream == Stream::gather && ends_with(p, call, "of weights")) << p.names[op.name];
      EXPECT_FALSE(op.stream == Stream::dp && ends_with(p, call, "of inputs")) << p.names[op.name];
    });
  }
}

TEST(SplitUnits, OfAHeadAloneScatterBehindItsPassOfInputs) {
  // Which makes its gradients: in a pass of weights that comes later each microbatch's would wait in whole.
  for (const Schedule schedule : {Schedule::zb_h1, Schedule::zb_h2}) {
    spec::Job j = job(schedule, 2, 4);
    j.strategy.stage_layers = {8, 0};
    const Plan p = plan::build(j);
    int scattered = 0;
    walk::operators(p, p.roles[1], [&](const Call& call, const Operator& op) {
      if (op.stream != Stream::dp || op.phase != plan::Phase::backward) return;
      EXPECT_TRUE(ends_with(p, call, "of inputs")) << p.names[op.name];
      ++scattered;
    });
    EXPECT_EQ(scattered, 4);  // microbatches
  }
}

TEST(SplitUnits, GatherAndScatterAsMuchAs1F1BDoes) {
  // Of each stage's P parameters the root is gathered once a step, each block for the forward and for the input
  // gradient of each of m microbatches, none for a weight gradient: root + 2 m (P - root). All are scattered m times.
  for (const Schedule schedule : {Schedule::one_f_one_b, Schedule::zb_h1, Schedule::zb_h2, Schedule::zb_v}) {
    for (const std::int64_t m : {1, 3, 6}) {
      const spec::Job j = job(schedule, 3, m);
      const Plan p = plan::build(j);
      expect_passes_apart(p);
      for (const Role& role : p.roles) {
        const std::int64_t all = walk::parameters(j, role), ends = root(j, role);
        EXPECT_EQ(walk::collective_bytes(p, role, "unit all-gather"), 2 * (ends + 2 * m * (all - ends)));
        EXPECT_EQ(walk::collective_bytes(p, role, "gradient reduce-scatter"), 2 * m * all);
      }
    }
  }
}

TEST(SplitUnits, OfDualpipeGoThroughHalfOfTheMicrobatchesEach) {
  // Two chunks a stage, each of one copy of the model, which half of the 8 microbatches pass.
  const spec::Job j = job(Schedule::dualpipe, 3, 8);
  const Plan p = plan::build(j);
  for (const Role& role : p.roles) {
    const std::int64_t all = walk::parameters(j, role), ends = root(j, role);
    EXPECT_EQ(walk::collective_bytes(p, role, "unit all-gather"), 2 * (ends + 2 * 4 * (all - ends)));
    EXPECT_EQ(walk::collective_bytes(p, role, "gradient reduce-scatter"), 2 * 4 * all);
    EXPECT_EQ(walk::count(p, role, "copies' gradient all-reduce"), 1);
  }
}

TEST(SplitUnits, ThatStayAreGatheredOnceAndScatteredByTheLastWeightGradientsAlone) {
  // What torchtitan does beside a pipeline: neither reshard nor a reduction before the last microbatch.
  for (const Schedule schedule : kAll) {
    const spec::Job j = job(schedule, 3, 6, {.reshard = false, .sync_each_microbatch = false});
    const Plan p = plan::build(j);
    expect_passes_apart(p);
    for (const Role& role : p.roles) {
      EXPECT_EQ(walk::collective_bytes(p, role, "unit all-gather"), 2 * walk::parameters(j, role));
      EXPECT_EQ(walk::collective_bytes(p, role, "gradient reduce-scatter"), 2 * walk::parameters(j, role));
    }
  }
}

TEST(SplitUnits, OfZeroTwoScatterEachMicrobatchAndGatherOnce) {
  for (const Schedule schedule : kSplit) {
    const spec::Job j = job(schedule, 2, 5);
    const Plan p = plan::build(j);
    for (const Role& role : p.roles) {
      EXPECT_EQ(walk::collective_bytes(p, role, "gradient reduce-scatter"), 5 * 2 * walk::parameters(j, role));
      EXPECT_EQ(walk::collective_bytes(p, role, "parameter all-gather"), 2 * walk::parameters(j, role));
    }
  }
}

TEST(SplitUnits, LeaveATableToWhichTwoChunksAddForTheEndOfTheStep) {
  // A V's first stage has embedding and head, whose passes of one microbatch lie far apart: 2048 words of 256.
  constexpr std::int64_t table = 2048 * 256;
  for (const int zero : {2, 3}) {
    const spec::Job j = job(Schedule::zb_v, zero, 4, {}, true);
    const Plan p = plan::build(j);
    const std::int64_t all = walk::parameters(j, p.roles[0]);
    EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "gradient reduce-scatter"), 2 * (4 * (all - table) + table));
    int last = 0;
    for (const Operator& op : p.segments[p.roles[0].calls.back().segment].operators) {
      if (p.names[op.name] == "gradient reduce-scatter") last += walk::collective(p, op)->bytes == 2 * table;
    }
    EXPECT_EQ(last, 1);
  }
}

TEST(SplitUnits, HaveArrivedWhenTheirLayerComputesAndAreCompleteWhenTheyAreScattered) {
  for (const Schedule schedule : kAll) {
    for (const int prefetch : {0, 1, 3, 8}) {
      const Plan p = plan::build(job(schedule, 3, 6, {.prefetch = prefetch}, false, 48));
      for (const Role& role : p.roles) {
        walk::HappensBefore order(p);
        std::map<std::pair<int, bool>, int> gather;  // of a layer, for a forward or not: the latest one
        std::map<int, int> weight;                   // of a layer: the latest kernel of its weight gradients
        walk::operators(p, role, [&](const Call& call, const Operator& op) {
          const int at = order.issue(op);
          const bool forward = op.phase == plan::Phase::forward;
          if (op.stream == Stream::gather) gather[{op.layer, forward}] = at;
          const std::string& name = p.names[op.name];
          const bool weighs = name.find("weight gradient") != std::string::npos;
          if (weighs) weight[op.layer] = at;
          if (op.layer < 0) return;
          if (op.stream == Stream::compute && !ends_with(p, call, "of weights")) {
            ASSERT_TRUE(gather.contains({op.layer, forward})) << name;
            EXPECT_TRUE(order.before(gather[{op.layer, forward}], at)) << name << ' ' << prefetch;
          }
          if (name == "gradient reduce-scatter") {
            ASSERT_TRUE(weight.contains(op.layer));
            EXPECT_TRUE(order.before(weight[op.layer], at)) << prefetch;
          }
        });
      }
    }
  }
}

TEST(SplitUnits, AreNotHeldByPassesOfWeights) {
  // Gathered are the roots, from the first forward on, and, with one ahead, two blocks; the roots alone where a pass of
  // weights begins, for each pass asks for its own blocks.
  for (const Schedule schedule : kSplit) {
    const spec::Job j = job(schedule, 3, 6);
    const plan::Context c(j);
    const Plan p = plan::build(j);
    const std::int64_t layer = plan::layer_parameters(c, 0).total();
    for (const Role& role : p.roles) {
      std::int64_t level = 0, most = 0;
      for (const Call& call : role.calls) {
        EXPECT_TRUE(level <= 2 * root(j, role) || !ends_with(p, call, "of weights"));
        for (const plan::MemoryChange& change : p.segments[call.segment].memory) {
          if (change.category == plan::Category::parameters) most = std::max(most, level += change.bytes);
        }
      }
      EXPECT_EQ(most, 2 * (root(j, role) + 2 * layer));
      EXPECT_EQ(level, 0);
    }
  }
}

TEST(SplitUnits, GiveBackEverythingTheyTake) {
  walk::Dice dice(12);
  for (int n = 0; n < 200; ++n) {
    spec::Job j = walk::random_job(dice);
    spec::Strategy& s = j.strategy;
    s.pp = dice.of({2, 4});
    s.vpp = 1;
    s.schedule = kAll[dice.below(4)];
    j.model.layers = 2 * s.pp * dice.from(1, 2);
    s.embedding_in_split = false;
    s.overlap.p2p = true;
    s.zero = dice.from(2, 3);
    s.fsdp = {dice.below(3), dice.below(9), dice.below(3), dice.coin(), dice.coin()};
    s.optimizer_barrier = dice.coin();
    j.training.global_batch = 2 * s.pp * dice.from(1, 2) * j.training.micro_batch * s.data();
    j.cluster = toy::cluster(s.tp * s.pp * s.data());
    j.framework.unit_copies = dice.coin();
    j.framework.bucketed_units = dice.coin();
    const Plan p = plan::build(j);
    for (const Role& role : p.roles) {
      std::array<std::int64_t, plan::kCategories> level{};
      for (const Call& call : role.calls) {
        for (const plan::MemoryChange& change : p.segments[call.segment].memory) {
          level[static_cast<int>(change.category)] += change.bytes;
          ASSERT_GE(level[static_cast<int>(change.category)], 0) << walk::told(j);
        }
      }
      for (const std::int64_t left : level) EXPECT_EQ(left, 0) << walk::told(j);
    }
  }
}

}  // namespace
