// tests/core/plan/recurrent_test.cpp -- recurrent layers of a toy: h = 256, 8 heads of 32 values, 4 groups of keys as
// wide as 16. SPDX-License-Identifier: Apache-2.0
#include "core/plan/recurrent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/plan/block.h"
#include "core/plan/flops.h"
#include "core/spec/parameters.h"
#include "tests/core/plan/walk.h"

namespace {

using Kind = spec::Recurrent::Kind;

spec::Recurrent toy_recurrent(Kind kind) {
  return {.kind = kind, .heads = 8, .head_dim = 32, .groups = 4, .state = 16, .conv = 4, .chunk = 32};
}

spec::Job toy_job(toy::Cut cut, Kind kind, const std::string& pattern = "") {
  return toy::job(cut, [&](spec::Job& j) {
    j.model.recurrent = toy_recurrent(kind);
    j.model.pattern = pattern;
    if (!pattern.empty()) j.model.layers = static_cast<int>(pattern.size());
    j.model.bias = false;
    j.model.norm = spec::Norm::rmsnorm;
  });
}

/// The first segment that computes a layer.
const plan::Segment& forward_of(const plan::Plan& plan) {
  for (const plan::Call& call : plan.roles[0].calls) {
    const plan::Segment& segment = plan.segments[call.segment];
    if (std::ranges::any_of(segment.operators, [](const plan::Operator& op) { return op.layer >= 0; })) return segment;
  }
  throw std::logic_error("no layer");
}

std::vector<std::string> names_of(const plan::Plan& plan, const plan::Segment& segment) {
  std::vector<std::string> out;
  for (const plan::Operator& op : segment.operators) {
    if (op.layer >= 0) out.push_back(plan.names[op.name]);
  }
  return out;
}

TEST(Recurrent, ALayersParametersAreThoseOfItsParts) {
  // Values 8 x 32 = 256, keys 4 x 16 = 64: convolved 256 + 2 x 64 = 384 channels, projected 384 + 256 (gate) and a step
  // for each head (mamba2: 8) or two (16). In 256 x 648 and out 256 x 256; taps 4 and a bias for each channel, three
  // numbers a head, a norm of 256; or taps alone, two numbers a head, a norm of 32.
  const auto parameters = [](Kind kind) {
    return spec::parameters(toy_job({}, kind, "M").model).recurrent + spec::recurrent_norm(toy_job({}, kind).model);
  };
  EXPECT_EQ(parameters(Kind::mamba2), 256 * 648 + 256 * 256 + 384 * 5 + 24 + 256);
  EXPECT_EQ(parameters(Kind::gated_delta), 256 * 656 + 256 * 256 + 384 * 4 + 16 + 32);
}

TEST(Recurrent, ARanksParametersAddUpToTheModels) {
  for (const Kind kind : {Kind::mamba2, Kind::gated_delta}) {
    for (const char* pattern : {"", "M*-M", "MM", "*-M*"}) {
      const spec::Job j = toy_job({}, kind, pattern);
      EXPECT_EQ(walk::parameters(j, plan::build(j).roles[0]), spec::parameters(j.model).total()) << pattern;
    }
  }
}

TEST(Recurrent, ALetterIsALayerOfOnePart) {
  // Each has one norm and one residual addition around its own operators.
  const spec::Job j = toy_job({}, Kind::mamba2, "M*-");
  const plan::Plan plan = plan::build(j);
  const plan::Segment& forward = forward_of(plan);
  EXPECT_EQ(names_of(plan, forward),
            (std::vector<std::string>{"recurrent norm", "recurrent input", "recurrent convolution", "recurrent scan",
                                      "recurrent output norm", "recurrent output", "residual add",               //
                                      "attention norm", "qkv", "attention", "attention output", "residual add",  //
                                      "feed-forward norm", "feed-forward up", "activation", "feed-forward down",
                                      "residual add"}));
}

TEST(Recurrent, EveryNthLayerAttendsWhereTheModelSaysSo) {
  spec::Job j = toy_job({}, Kind::gated_delta);
  j.model.layers = 4;
  j.model.recurrent->attention_every = 2;
  std::vector<bool> attends;
  for (int layer = 0; layer < 4; ++layer) attends.push_back(j.model.parts_in(layer).attends());
  EXPECT_EQ(attends, (std::vector<bool>{false, true, false, true}));
}

TEST(Recurrent, WhatAForwardTakesABackwardGivesBack) {
  for (const Kind kind : {Kind::mamba2, Kind::gated_delta}) {
    for (const auto recompute :
         {spec::Recompute::Kind::none, spec::Recompute::Kind::selective, spec::Recompute::Kind::full}) {
      spec::Job j = toy_job({.tp = 2}, kind, "M*-M");
      j.strategy.sp = true;
      j.strategy.recompute.kind = recompute;
      const plan::Plan plan = plan::build(j);
      std::int64_t held = 0;
      for (const plan::Call& call : plan.roles[0].calls) {
        for (const plan::MemoryChange& change : plan.segments[call.segment].memory) {
          if (change.category == plan::Category::activations) held += change.bytes;
        }
      }
      EXPECT_EQ(held, 0);
    }
  }
}

TEST(Recurrent, FullRecomputationRunsTheForwardAgainAndKeepsTheInputAlone) {
  spec::Job none = toy_job({}, Kind::mamba2, "MM"), full = none;
  full.strategy.recompute.kind = spec::Recompute::Kind::full;
  const plan::Context c(full);
  EXPECT_EQ(plan::kept_activations(c, spec::Recompute::Kind::full, c.model.parts_in(0)).total(),
            c.tokens * c.hidden * c.element);
  // A step's FLOPs grow by one forward of the layers.
  const spec::Model& m = none.model;
  const double tokens = static_cast<double>(none.training.global_batch * none.training.sequence);
  const plan::Recurrence scan{.kind = Kind::mamba2,
                              .batch = none.training.global_batch,
                              .length = none.training.sequence,
                              .heads = 8,
                              .head_dim = 32,
                              .groups = 4,
                              .state = 16,
                              .chunk = 32};
  const double forward = 2 * tokens * static_cast<double>(spec::recurrent_weights(m)) + plan::hardware_flops(scan);
  EXPECT_DOUBLE_EQ(walk::flops(plan::build(full)) - walk::flops(plan::build(none)), 2 * forward);
}

TEST(Recurrent, ContextParallelRanksTradeTokensForHeads) {
  // 2 ranks of 64 of 128 tokens: what the projection made (648 numbers) goes out before the convolution, 256 come back
  // behind the scan; the scan then has whole sequences and half of the heads.
  spec::Job j = toy_job({}, Kind::mamba2, "M");
  j.strategy.cp = 2;
  j.cluster = toy::cluster(2);
  const plan::Plan plan = plan::build(j);
  const plan::Segment& forward = forward_of(plan);
  std::vector<std::int64_t> sent;
  for (const plan::Operator& op : forward.operators) {
    if (op.layer < 0) continue;
    if (const auto* work = std::get_if<plan::Collective>(&plan.works[op.work])) sent.push_back(work->bytes);
    if (const auto* scan = std::get_if<plan::Recurrence>(&plan.works[op.work])) {
      EXPECT_EQ(scan->length, j.training.sequence);
      EXPECT_EQ(scan->heads, 4);
      EXPECT_EQ(scan->groups, 2);
    }
  }
  const std::int64_t tokens = j.training.micro_batch * j.training.sequence / 2;
  EXPECT_EQ(sent, (std::vector<std::int64_t>{tokens * 648 * 2, tokens * 256 * 2}));
}

TEST(Recurrent, FlopsOfAModelAreThoseOfItsParts) {
  // Of one sequence of 128: in and out 2 x 128 x 256 (648 + 256); 7 operations for each of 256 x 16 numbers of the
  // states a token. One layer of four is recurrent, two are none of attention.
  const spec::Model m = toy_job({}, Kind::mamba2, "M-*-").model;
  const plan::ForwardFlops one = plan::forward_flops(m, 128);
  const double feed_forward = 2.0 * static_cast<double>(m.hidden * m.ffn), attention = 4.0 * 256 * 256;
  EXPECT_DOUBLE_EQ(one.linear * 4, 2 * 128 * (256 * 904 + 2 * feed_forward + attention));
  EXPECT_DOUBLE_EQ(one.attention * 4, 128 * 7.0 * 4096 + 2 * 2 * 256 * (128 * 128 / 2));
}

TEST(Recurrent, AGateOnAttentionIsProjectedBesideTheQueries) {
  spec::Job j = toy::job({}, [](spec::Job& job) { job.model.attention_gate = true; });
  spec::Job plain = toy::job({}, [](spec::Job&) {});
  const std::int64_t more = spec::parameters(j.model).total() - spec::parameters(plain.model).total();
  EXPECT_EQ(more, j.model.layers * (j.model.hidden + (j.model.has_qkv_bias() ? 1 : 0)) * j.model.q_width());
  EXPECT_EQ(walk::parameters(j, plan::build(j).roles[0]), spec::parameters(j.model).total());
}

}  // namespace
