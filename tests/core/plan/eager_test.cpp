// tests/core/plan/eager_test.cpp -- what PyTorch's own modules compute, send and hold where Megatron does otherwise.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "core/plan/block.h"
#include "core/plan/context_parallel.h"
#include "core/plan/elementwise.h"
#include "core/plan/ends.h"
#include "core/plan/flops.h"
#include "core/plan/tensor_parallel.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Category;
using plan::CollectiveKind;
using plan::Context;

/// Most bytes of logits held at once from the head's forward to its backward; what is left at the end.
std::pair<std::int64_t, std::int64_t> logits(const spec::Job& j) {
  const Context c(j);
  walk::Pen pen;
  plan::head_forward(c, pen.out);
  plan::head_backward(c, pen.out);
  std::int64_t now = 0, most = 0;
  const plan::Segment segment = pen.out.finish();
  for (const plan::MemoryChange& change : segment.memory) {
    if (change.category == Category::logits) most = std::max(most, now += change.bytes);
  }
  return {most, now};
}

spec::Job eager(toy::Cut cut, bool separate) {
  return toy::job(cut, [&](spec::Job& j) {
    j.strategy.fused_kernels.cross_entropy = false;
    j.framework.separate_loss = separate;
  });
}

TEST(EagerLoss, HoldsThreeTensorsInFp32FourWhereTheVocabularyIsCut) {
  constexpr std::int64_t kLogits = 128 * 2048;
  EXPECT_EQ(logits(eager({}, false)), std::pair(kLogits * (4 + 2), std::int64_t{0}));  // in place: fp32 and bf16
  EXPECT_EQ(logits(eager({}, true)), std::pair(kLogits * 12, std::int64_t{0}));  // log-softmax, its gradient, theirs
  EXPECT_EQ(logits(eager({.tp = 4}, true)), std::pair(kLogits / 4 * 16, std::int64_t{0}));  // and exp of it
}

TEST(EagerLoss, MayShiftTheLogitsIntoATensorOfItsOwn) {
  constexpr std::int64_t kLogits = 128 * 2048;
  const auto shifted = [](spec::Job j) {
    j.framework.shifted_logits = true;
    return logits(j);
  };
  // Forward bf16 logits, those cast to fp32 and those less their maximum; backward the latter and their gradient.
  EXPECT_EQ(shifted(eager({}, false)), std::pair(kLogits * (2 + 4 + 4), std::int64_t{0}));
  EXPECT_EQ(shifted(eager({.tp = 4}, false)), std::pair(kLogits / 4 * 10, std::int64_t{0}));
  EXPECT_EQ(shifted(eager({}, true)), logits(eager({}, true)));  // which has it already
  EXPECT_EQ(shifted(toy::job({})), logits(toy::job({})));        // fused
}

TEST(EagerLinears, GateAndUpLeaveAnInputGradientEach) {
  const auto widest = [](bool apart, bool gated) {
    return toy::job({}, [&](spec::Job& j) {
      j.model.gated_mlp = gated;
      j.framework.separate_linears = apart;
    });
  };
  const auto workspace = [&](bool apart, bool gated) {
    const spec::Job job = widest(apart, gated);
    const Context c(job);
    walk::Pen pen;
    plan::Block(c, pen.out).backward(spec::Recompute::Kind::none, false);
    std::int64_t now = 0, most = 0;
    for (const plan::MemoryChange& change : pen.out.finish().memory) {
      if (change.category == Category::workspace) most = std::max(most, now += change.bytes);
    }
    return most;
  };
  EXPECT_EQ(workspace(true, true) - workspace(false, true), 128 * 256 * 2);  // 128 tokens of 256 in bf16
  EXPECT_EQ(workspace(true, false), workspace(false, false));
}

TEST(EagerLoss, ACompiledOneWritesTheGradientBesideTheLogits) {
  const auto with = [](bool kernel_of_its_own) {
    return toy::job({}, [=](spec::Job& j) {
      j.strategy.compile = true;
      j.framework.fused.cross_entropy = kernel_of_its_own;
    });
  };
  EXPECT_EQ(logits(toy::job({})), std::pair(std::int64_t{128 * 2048 * 2}, std::int64_t{0}));
  EXPECT_EQ(logits(with(false)), std::pair(std::int64_t{128 * 2048 * 4}, std::int64_t{0}));
  EXPECT_EQ(logits(with(true)), std::pair(std::int64_t{128 * 2048 * 2}, std::int64_t{0}));
}

int collectives(walk::Pen& pen, const plan::Segment& segment, CollectiveKind kind) {
  return static_cast<int>(std::count_if(segment.operators.begin(), segment.operators.end(), [&](const auto& op) {
    const plan::Collective* work = walk::collective(pen.plan, op);
    return work && work->kind == kind;
  }));
}

TEST(EagerLinears, KeptInputsAreNotGatheredAgain) {
  for (const bool keeps : {false, true}) {
    const spec::Job j = toy::job({.tp = 4, .sp = true}, [&](spec::Job& b) { b.framework.keeps_gathered = keeps; });
    const Context c(j);
    walk::Pen pen;
    plan::TensorParallel(c, pen.out).column_backward(plan::up_linear(c));
    const plan::Segment segment = pen.out.finish();
    EXPECT_EQ(collectives(pen, segment, CollectiveKind::all_gather), keeps ? 0 : 1);
    EXPECT_EQ(collectives(pen, segment, CollectiveKind::reduce_scatter), 1);
    // Two linears keep 128 tokens of 256 in bf16, whole or a fourth of them.
    EXPECT_EQ(plan::kept_activations(c, spec::Recompute::Kind::none).linear_inputs,
              2 * 128 * 256 * 2 / (keeps ? 1 : 4));
  }
}

TEST(EagerLinears, ApartTheyComputeTheSameAndAddTheirGradients) {
  const auto written = [](bool apart, auto call) {
    const spec::Job j = toy::job({}, [&](spec::Job& b) { b.framework.separate_linears = apart; });
    const Context c(j);
    walk::Pen pen;
    plan::TensorParallel linear(c, pen.out);
    call(linear, plan::qkv_linear(c));
    const plan::Segment segment = pen.out.finish();
    double flops = 0;
    for (const plan::Operator& op : segment.operators) flops += plan::hardware_flops(pen.work(op));
    return std::pair(flops, segment.operators.size());
  };
  const auto forward = [](plan::TensorParallel& l, const plan::Linear& q) { l.column_forward(q); };
  const auto backward = [](plan::TensorParallel& l, const plan::Linear& q) { l.column_backward(q); };
  EXPECT_EQ(written(false, forward).second, 1U);
  EXPECT_EQ(written(true, forward).second, 3U);  // queries, keys, values
  EXPECT_EQ(written(true, forward).first, written(false, forward).first);
  EXPECT_EQ(written(true, backward).first, written(false, backward).first);
  // Three input gradients, their sum and three weight gradients for two; the bias is summed once in both.
  EXPECT_EQ(written(true, backward).second, written(false, backward).second + 5);
}

TEST(EagerAttention, CopiesKeysAndValuesToEveryQueryHead) {
  const spec::Job j = toy::job({}, [](spec::Job& b) {
    b.model.kv_heads = 2;
    b.framework.expands_kv = true;
  });
  const Context c(j);
  EXPECT_EQ(c.attention_kv_heads, 8);
  // Reads 2 x 128 tokens x 2 heads x 32 in bf16, writes four times that.
  EXPECT_EQ(plan::expand_kv(c, false).work.read, 2 * 128 * 2 * 32 * 2);
  EXPECT_EQ(plan::expand_kv(c, false).work.written, 2 * 128 * 8 * 32 * 2);
  const plan::Plan p = plan::build(j);
  EXPECT_EQ(walk::count(p, p.roles[0], "keys and values copied to heads"), 4);  // one a layer
  EXPECT_EQ(walk::count(p, p.roles[0], "key and value gradients summed over heads"), 4);
}

TEST(RingAtOnce, GathersOnceAPassAndSendsGradientsRoundInFp32) {
  const spec::Job j = toy::job({}, [](spec::Job& b) {
    b.strategy.cp = 4;
    b.cluster = toy::cluster(4);
    b.framework.ring_gathers = true;
  });
  const Context c(j);
  walk::Pen forward, backward;
  plan::ContextParallel(c, forward.out, false).forward();
  plan::ContextParallel(c, backward.out, false).backward();
  const plan::Segment f = forward.out.finish(), b = backward.out.finish();
  EXPECT_EQ(collectives(forward, f, CollectiveKind::all_gather), 1);
  EXPECT_EQ(collectives(forward, f, CollectiveKind::shift), 0);
  EXPECT_EQ(collectives(backward, b, CollectiveKind::all_gather), 1);
  EXPECT_EQ(collectives(backward, b, CollectiveKind::shift), 4);  // a hop behind each of 4 steps
  for (const plan::Operator& op : b.operators) {
    const plan::Collective* work = walk::collective(backward.plan, op);
    if (work && work->kind == CollectiveKind::shift) {
      EXPECT_EQ(work->bytes, 2 * 32 * 256 * 4);  // 32 tokens, K and V of 256 numbers
    }
  }
  const auto flops = [](const walk::Pen& pen, const plan::Segment& s) {
    double sum = 0;
    for (const plan::Operator& op : s.operators) sum += plan::hardware_flops(pen.work(op));
    return sum;
  };
  const double whole = plan::forward_flops(j.model, j.training.sequence).attention;
  EXPECT_DOUBLE_EQ(flops(forward, f) * 4, whole);
  EXPECT_DOUBLE_EQ(flops(backward, b) * 4, 2.5 * whole);
}

}  // namespace
