// tests/core/plan/ends_test.cpp -- embedding, output head and loss.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/ends.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/core/plan/walk.h"

namespace {

using plan::Category;
using plan::CollectiveKind;
using plan::Context;

using End = void (*)(const Context&, plan::SegmentBuilder&);

struct Written {
  walk::Pen pen;
  plan::Segment segment;

  Written(const spec::Job& j, End end) {
    const Context c(j);
    end(c, pen.out);
    segment = pen.out.finish();
  }
  int collectives(CollectiveKind kind) const {
    int count = 0;
    for (const plan::Operator& op : segment.operators) {
      const plan::Collective* work = walk::collective(pen.plan, op);
      count += work && work->kind == kind;
    }
    return count;
  }
  std::int64_t bytes(const std::string& name) const {
    for (const plan::Operator& op : segment.operators) {
      const plan::Collective* work = walk::collective(pen.plan, op);
      if (work && pen.name(op) == name) return work->bytes;
    }
    return -1;
  }
  /// Bytes that it reads and writes.
  std::pair<std::int64_t, std::int64_t> moved(const std::string& name) const {
    for (const plan::Operator& op : segment.operators) {
      const auto* work = std::get_if<plan::MemoryBound>(&pen.plan.works[static_cast<std::size_t>(op.work)]);
      if (work && pen.name(op) == name) return {work->read, work->written};
    }
    return {-1, -1};
  }
  /// Most bytes of a category held at once, and what is left.
  std::pair<std::int64_t, std::int64_t> memory(Category category, std::int64_t now = 0) const {
    std::int64_t most = now;
    for (const plan::MemoryChange& change : segment.memory) {
      if (change.category == category) most = std::max(most, now += change.bytes);
    }
    return {most, now};
  }
};

constexpr std::int64_t kTokens = 128, kHidden = 256, kVocab = 2048;

TEST(Embedding, IsReducedOverTensorParallelRanksThatHoldOtherRows) {
  const Written one(toy::job(), plan::embedding_forward);
  EXPECT_EQ(one.collectives(CollectiveKind::all_reduce), 0);
  const Written whole(toy::job({.tp = 4}), plan::embedding_forward),
      cut(toy::job({.tp = 4, .sp = true}), plan::embedding_forward);
  EXPECT_EQ(whole.bytes("embedding all-reduce"), kTokens * kHidden * 2);
  EXPECT_EQ(cut.bytes("embedding reduce-scatter"), kTokens * kHidden * 2);
  EXPECT_EQ(whole.segment.operators.back().waits[0], plan::event_of(plan::Stream::tp));  // of the position embedding
}

TEST(Embedding, GathersItsGradientWhenTheSequenceIsCut) {
  const Written whole(toy::job({.tp = 4}), plan::embedding_backward),
      cut(toy::job({.tp = 4, .sp = true}), plan::embedding_backward);
  EXPECT_EQ(whole.collectives(CollectiveKind::all_gather), 0);
  EXPECT_EQ(cut.bytes("embedding gradient all-gather"), kTokens * kHidden * 2);
}

TEST(Embedding, HoldsADenseGradientWhileItIsScattered) {
  const Written w(toy::job({.tp = 4}), plan::embedding_backward);
  EXPECT_EQ(w.memory(Category::workspace), (std::pair<std::int64_t, std::int64_t>{kVocab / 4 * kHidden * 2, 0}));
}

TEST(Embedding, ADenseGradientIsAddedToWhatIsThere) {
  // 2048 rows of 256 in 2 bytes are zeroed, a microbatch's rows read; where gradients are added (fp32, 4 bytes) the
  // whole is read with the sum, and the sum written. In 16 bits the first of 4 microbatches takes the sum's place, and
  // that of a lone one is the gradient itself.
  const auto moved = [](bool fused, spec::Dtype gradients, int microbatches) {
    const spec::Job j = toy::job({.microbatches = microbatches}, [&](spec::Job& job) {
      job.strategy.fused_kernels.grad_accumulation = fused;
      job.training.gradient_dtype = gradients;
    });
    const Written w(j, plan::embedding_backward);
    return std::pair(w.moved("embedding gradient"), w.memory(Category::workspace).first);
  };
  using Bytes = std::pair<std::int64_t, std::int64_t>;
  constexpr std::int64_t table = kVocab * kHidden, rows = kTokens * kHidden * 2;
  const std::pair added(Bytes{rows + table * (2 + 4), table * (2 + 4)}, table * 2);
  EXPECT_EQ(moved(true, spec::Dtype::fp32, 1), added);
  EXPECT_EQ(moved(false, spec::Dtype::fp32, 4), added);
  EXPECT_EQ(moved(false, spec::Dtype::bf16, 4),
            std::pair(Bytes(rows + table * 3 / 4 * (2 + 2), table * 2 + table * 3 / 4 * 2), table * 2));
  EXPECT_EQ(moved(false, spec::Dtype::bf16, 1), std::pair(Bytes(rows, table * 2), std::int64_t{0}));
}

TEST(Embedding, GradientGoesToTheSumsOfItsRowsWhereTheFrameworkAddsThem) {
  spec::Job j = toy::job();
  j.framework.adds_embedding_rows = true;
  const Written w(j, plan::embedding_backward);
  // A token's 256 gradients in 2 bytes; their sums, in 4, read and written.
  EXPECT_EQ(w.moved("embedding gradient"),
            (std::pair<std::int64_t, std::int64_t>{kTokens * kHidden * (2 + 4), kTokens * kHidden * 4}));
  EXPECT_EQ(w.memory(Category::workspace).first, 0);
}

TEST(Embedding, WithLearnedPositionsAndDropoutKeepsAMask) {
  const auto dropout = [](spec::Job& j) { j.training.dropout = 0.1; };
  EXPECT_EQ(Written(toy::job({}, dropout), plan::embedding_forward).memory(Category::activations).second,
            kTokens * kHidden);
  EXPECT_EQ(
      Written(toy::job({.tp = 4, .sp = true}, dropout), plan::embedding_forward).memory(Category::activations).second,
      kTokens * kHidden / 4);
  EXPECT_EQ(Written(toy::job(), plan::embedding_forward).memory(Category::activations).second, 0);
}

TEST(Embedding, WithAlibiKeepsItsDropoutsMaskAndANormsInput) {
  const auto kept = [](bool dropout, bool norm, End end) {
    return Written(toy::job({},
                            [=](spec::Job& j) {
                              j.model.position = spec::Position::alibi;
                              j.model.embedding_norm = norm;
                              j.training.dropout = dropout ? 0.1 : 0;
                            }),
                   end)
        .memory(Category::activations)
        .second;
  };
  EXPECT_EQ(kept(true, false, plan::embedding_forward), kTokens * kHidden);
  EXPECT_EQ(kept(true, true, plan::embedding_forward), kTokens * kHidden * 3);  // a byte, and bf16
  EXPECT_EQ(kept(true, true, plan::embedding_backward), -kTokens * kHidden * 3);
  EXPECT_EQ(kept(false, false, plan::embedding_forward), 0);
}

TEST(Head, ReducesOneNumberATokenThreeTimesInAVocabularyParallelLoss) {
  // Maximum, target's logit, sum of exponentials: Shoeybi et al., arXiv 1909.08053, section 3, b s instead of b s V
  // numbers.
  const Written w(toy::job({.tp = 4}), plan::head_forward);
  EXPECT_EQ(w.collectives(CollectiveKind::all_reduce), 3);
  for (const char* name : {"loss maximum all-reduce", "loss target all-reduce", "loss sum all-reduce"}) {
    EXPECT_EQ(w.bytes(name), kTokens * 4) << name;
  }
  EXPECT_EQ(Written(toy::job(), plan::head_forward).collectives(CollectiveKind::all_reduce), 0);
}

TEST(Head, LogitsAreKeptInStorageFormatOrTheChainsSinglePrecision) {
  const auto eager = [](spec::Job& j) { j.strategy.fused_kernels.cross_entropy = false; };
  const std::int64_t logits = kTokens * kVocab;
  EXPECT_EQ(Written(toy::job(), plan::head_forward).memory(Category::logits), (std::pair{2 * logits, 2 * logits}));
  EXPECT_EQ(Written(toy::job({.tp = 4}), plan::head_forward).memory(Category::logits).second, 2 * logits / 4);
  // Both copies while one is cast to the other.
  EXPECT_EQ(Written(toy::job({}, eager), plan::head_forward).memory(Category::logits),
            (std::pair{(2 + 4) * logits, 4 * logits}));
}

TEST(Head, AFusedLossWritesWhatItsGradientBeginsWithUnlessItKeepsTheLogits) {
  spec::Job j = toy::job();
  j.strategy.fused_kernels.cross_entropy = true;
  constexpr std::int64_t kLogits = kTokens * kVocab * 2;
  using Moved = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(Written(j, plan::head_forward).moved("loss"), (Moved{kLogits, kLogits}));
  j.framework.keeps_logits = true;
  EXPECT_EQ(Written(j, plan::head_forward).moved("loss"), (Moved{kLogits, 0}));
  EXPECT_EQ(Written(j, plan::head_backward).moved("loss gradient"), (Moved{kLogits, kLogits}));
}

TEST(Head, BackwardComputesTwoForwards) {
  const spec::Job j = toy::job({.tp = 4});
  const Written forward(j, plan::head_forward), backward(j, plan::head_backward);
  const double one = walk::flops(forward.pen.plan, forward.segment, plan::Phase::forward);
  EXPECT_EQ(one, 2.0 * kTokens * kHidden * kVocab / 4);
  EXPECT_EQ(walk::flops(backward.pen.plan, backward.segment, plan::Phase::backward), 2 * one);
}

TEST(Head, ALossByChunksHoldsTheLogitsOfOneAndMakesAllGradientsInTheForward) {
  // The vocabulary is 8 times as wide as a state, so that 16 of 128 tokens go at once. From the forward to the backward
  // wait the gradients of the states and of the table.
  const auto chunked = [](spec::Job& j) { j.strategy.linear_cross_entropy = true; };
  const spec::Job whole = toy::job(), job = toy::job({}, chunked);
  const Written forward(job, plan::head_forward), backward(job, plan::head_backward);
  EXPECT_EQ(forward.memory(Category::logits), (std::pair{2 * 16 * kVocab, std::int64_t{0}}));
  EXPECT_EQ(forward.memory(Category::gradients).second, 2 * kVocab * kHidden);
  EXPECT_EQ(forward.memory(Category::activations).second, 2 * 2 * kTokens * kHidden);  // and the input of the norm
  const Written usual(whole, plan::head_forward), later(whole, plan::head_backward);
  const auto flops = [](const Written& w) {
    return walk::flops(w.pen.plan, w.segment, plan::Phase::forward) +
           walk::flops(w.pen.plan, w.segment, plan::Phase::backward);
  };
  EXPECT_EQ(flops(forward), flops(usual) + flops(later));
  EXPECT_EQ(flops(backward), 0);
  // Eight products of each kind, each of which reads the table, or reads and writes its gradient.
  for (const plan::Operator& op : forward.segment.operators) {
    const auto* work = std::get_if<plan::Matmul>(&forward.pen.plan.works[static_cast<std::size_t>(op.work)]);
    if (!work) continue;
    EXPECT_EQ(work->batch, 8) << forward.pen.name(op);
    EXPECT_EQ(op.launches, 8) << forward.pen.name(op);
    EXPECT_EQ(work->accumulates, work->pass == plan::Matmul::Pass::weight_gradient);
  }
  EXPECT_GT(backward.moved("output head gradient accumulation").first, 0);  // to the main gradient
  for (int category = 0; category < plan::kCategories; ++category) {
    const auto kind = static_cast<Category>(category);
    EXPECT_EQ(backward.memory(kind, forward.memory(kind).second).second, 0) << plan::kCategoryNames[category];
  }
}

TEST(Head, ACompilerPadsAnOddVocabularyOfTheHeadThatItTakes) {
  // 2,049 rows are no whole number of 16 bytes; 2,056 are, for a copy of the table in each pass.
  const auto head = [](bool compile, bool takes_head, std::int64_t vocab) {
    const Written w(toy::job({},
                             [=](spec::Job& j) {
                               j.model.vocab = vocab;
                               j.model.window = 64;  // of 2024, as compilers that pad
                               j.strategy.compile = compile;
                               j.framework.compiles_head = takes_head;
                             }),
                    plan::head_forward);
    std::int64_t columns = 0;
    for (const plan::Operator& op : w.segment.operators) {
      const auto* work = std::get_if<plan::Matmul>(&w.pen.plan.works[static_cast<std::size_t>(op.work)]);
      if (work) columns = work->n;
    }
    return std::pair(columns, w.moved("output head padded").first);
  };
  using Head = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(head(true, true, 2049), (Head{2056, 2049 * kHidden * 2}));
  EXPECT_EQ(head(true, false, 2049), (Head{2049, -1}));
  EXPECT_EQ(head(false, true, 2049), (Head{2049, -1}));
  EXPECT_EQ(head(true, true, 2056), (Head{2056, -1}));
}

TEST(Head, GradientOfTheLossWaitsForTheSumsOfTheOtherRanks) {
  const Written w(toy::job({.tp = 4}), plan::head_backward);
  EXPECT_EQ(w.pen.name(w.segment.operators.front()), "loss gradient");
  EXPECT_EQ(w.segment.operators.front().waits[0], plan::event_of(plan::Stream::tp));
  EXPECT_EQ(Written(toy::job(), plan::head_backward).segment.operators.front().waits[0], -1);
}

TEST(Ends, MemoryOfForwardAndBackwardSumsToZero) {
  walk::Dice dice(51);
  for (int i = 0; i < 300; ++i) {
    const spec::Job j = walk::random_job(dice);
    for (const auto& [forward, backward] : {std::pair<End, End>{plan::embedding_forward, plan::embedding_backward},
                                            std::pair<End, End>{plan::head_forward, plan::head_backward}}) {
      const Written f(j, forward), b(j, backward);
      for (int category = 0; category < plan::kCategories; ++category) {
        const auto kind = static_cast<Category>(category);
        EXPECT_EQ(b.memory(kind, f.memory(kind).second).second, 0)
            << plan::kCategoryNames[category] << ", " << walk::told(j);
      }
    }
  }
}

}  // namespace
