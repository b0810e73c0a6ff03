// tests/core/plan/tensor_parallel_test.cpp -- column- and row-parallel layers: what is sent, and what it may hide
// under. SPDX-License-Identifier: Apache-2.0
#include "core/plan/tensor_parallel.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/plan/walk.h"

namespace {

using plan::CollectiveKind;
using plan::Context;
using plan::Linear;
using plan::TensorParallel;
using spec::TpOverlap;

constexpr std::int64_t kTokens = 128, kWide = 256, kNarrow = 96;
const Linear column{"column", kWide, kNarrow, false};
const Linear row{"row", kNarrow, kWide, false};

spec::Job job(int tp, bool sp, TpOverlap overlap) {
  return toy::job({.tp = tp, .sp = sp}, [overlap](spec::Job& j) { j.strategy.overlap.tp = overlap; });
}

/// What one call of TensorParallel appended, behind a norm and before an activation, so that there is something to wait
/// for.
struct Written {
  walk::Pen pen;
  plan::Segment segment;
  walk::HappensBefore order{pen.plan};

  template <class Call>
  Written(const spec::Job& j, Call call) {
    const Context c(j);
    pen.out.compute(plan::MemoryBound{}, "in front");
    TensorParallel linear(c, pen.out);
    call(linear);
    pen.out.compute(plan::MemoryBound{}, "behind");
    segment = pen.out.finish();
    for (const plan::Operator& op : segment.operators) order.issue(op);
  }
  std::vector<int> named(const std::string& name) const {
    std::vector<int> out;
    for (int i = 0; i < static_cast<int>(segment.operators.size()); ++i) {
      if (pen.name(segment.operators[i]) == name) out.push_back(i);
    }
    return out;
  }
  int only(const std::string& name) const {
    const std::vector<int> all = named(name);
    EXPECT_EQ(all.size(), 1u) << name;
    return all.empty() ? 0 : all.front();
  }
  const plan::Collective& collective(int at) const {
    return std::get<plan::Collective>(pen.work(segment.operators[at]));
  }
  int size() const { return static_cast<int>(segment.operators.size()); }
  double flops() const {
    double sum = 0;
    for (const plan::Operator& op : segment.operators) sum += plan::hardware_flops(pen.work(op));
    return sum;
  }
};

const auto column_forward = [](TensorParallel& t) { t.column_forward(column); };
const auto row_forward = [](TensorParallel& t) { t.row_forward(row); };
const auto column_backward = [](TensorParallel& t) { t.column_backward(column); };
const auto row_backward = [](TensorParallel& t) { t.row_backward(row); };

TEST(TensorParallel, OfOneRankIsMatmulsAlone) {
  for (const TpOverlap overlap : {TpOverlap::none, TpOverlap::wgrad, TpOverlap::chunked, TpOverlap::userbuffers}) {
    const spec::Job j = job(1, true, overlap);
    EXPECT_EQ(Written(j, column_forward).size(), 2 + 1);
    EXPECT_EQ(Written(j, row_forward).size(), 2 + 1);
    EXPECT_EQ(Written(j, column_backward).size(), 2 + 2);  // gradients of input and weight
    EXPECT_EQ(Written(j, row_backward).size(), 2 + 2);
  }
}

TEST(TensorParallel, ShapesAreThoseOfForwardInputAndWeightGradient) {
  const spec::Job j = job(1, false, TpOverlap::none);
  const auto matmul = [](const Written& w, const std::string& name) {
    return std::get<plan::Matmul>(w.pen.work(w.segment.operators[w.only(name)]));
  };
  const Written forward(j, column_forward), backward(j, column_backward);
  const plan::Matmul y = matmul(forward, "column"), dx = matmul(backward, "column input gradient"),
                     dw = matmul(backward, "column weight gradient");
  EXPECT_EQ((std::vector<std::int64_t>{y.m, y.n, y.k}), (std::vector<std::int64_t>{kTokens, kNarrow, kWide}));
  EXPECT_EQ((std::vector<std::int64_t>{dx.m, dx.n, dx.k}), (std::vector<std::int64_t>{kTokens, kWide, kNarrow}));
  EXPECT_EQ((std::vector<std::int64_t>{dw.m, dw.n, dw.k}), (std::vector<std::int64_t>{kWide, kNarrow, kTokens}));
}

TEST(TensorParallel, CutsMatmulsIntoPiecesOfTheSameWork) {
  for (const bool sp : {false, true}) {
    for (const auto& call :
         {+[](TensorParallel& t) { t.column_forward(column); }, +[](TensorParallel& t) { t.row_forward(row); },
          +[](TensorParallel& t) { t.column_backward(column); }, +[](TensorParallel& t) { t.row_backward(row); }}) {
      const double whole = Written(job(4, sp, TpOverlap::none), call).flops();
      for (const TpOverlap overlap : {TpOverlap::wgrad, TpOverlap::chunked, TpOverlap::userbuffers}) {
        EXPECT_EQ(Written(job(4, sp, overlap), call).flops(), whole) << static_cast<int>(overlap);
      }
    }
  }
}

TEST(TensorParallel, ReducesWhatTheRowsMadeBeforeItIsRead) {
  for (const bool sp : {false, true}) {
    const Written w(job(4, sp, TpOverlap::none), row_forward);
    const int reduce = w.only(sp ? "row reduce-scatter" : "row all-reduce");
    EXPECT_EQ(w.collective(reduce).bytes, kTokens * kWide * 2);
    EXPECT_EQ(w.collective(reduce).kind, sp ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce);
    EXPECT_EQ(w.collective(reduce).group.size, 4);
    EXPECT_TRUE(w.order.before(w.only("row"), reduce));
    EXPECT_TRUE(w.order.before(reduce, w.only("behind")));
  }
}

TEST(TensorParallel, GathersTheSequenceBeforeTheColumnsReadIt) {
  const Written w(job(4, true, TpOverlap::none), column_forward);
  const int gather = w.only("column all-gather");
  EXPECT_EQ(w.collective(gather).bytes, kTokens * kWide * 2);
  EXPECT_TRUE(w.order.before(w.only("in front"), gather));
  EXPECT_TRUE(w.order.before(gather, w.only("column")));
}

TEST(TensorParallel, ASequenceBehindTheBatchIsLaidOutForEachCollective) {
  // Copied when gathered and before it is scattered, whole, once.
  const auto lies = [](TpOverlap overlap) {
    spec::Job j = job(4, true, overlap);
    j.framework.copies_sequence = j.framework.keeps_gathered = true;
    return j;
  };
  const auto copied = [](const Written& w, const std::string& name) {
    return std::get<plan::MemoryBound>(w.pen.work(w.segment.operators[w.only(name)])).written;
  };
  const spec::Job j = lies(TpOverlap::none);
  const Written gathers(j, column_forward), scatters(j, row_forward), back(j, column_backward);
  EXPECT_EQ(copied(gathers, "column all-gather laid out"), kTokens * kWide * 2);
  EXPECT_TRUE(gathers.order.before(gathers.only("column all-gather"), gathers.only("column all-gather laid out")));
  EXPECT_TRUE(gathers.order.before(gathers.only("column all-gather laid out"), gathers.only("column")));
  EXPECT_EQ(copied(scatters, "row reduce-scatter laid out"), kTokens * kWide * 2);
  EXPECT_TRUE(scatters.order.before(scatters.only("row"), scatters.only("row reduce-scatter laid out")));
  EXPECT_TRUE(scatters.order.before(scatters.only("row reduce-scatter laid out"), scatters.only("row reduce-scatter")));
  EXPECT_EQ(copied(back, "column input gradient reduce-scatter laid out"), kTokens * kWide * 2);
  EXPECT_EQ(copied(Written(j, row_backward), "row gradient all-gather laid out"), kTokens * kWide * 2);
  // Piece by piece, matmuls read shards where they arrive, and what each rank sent is summed: four shards to one.
  const spec::Job pieces = lies(TpOverlap::chunked);
  EXPECT_TRUE(Written(pieces, column_forward).named("column all-gather laid out").empty());
  EXPECT_EQ(copied(Written(pieces, row_forward), "row reduce-scatter summed"), kTokens * kWide * 2 / 4);
  // Beside the copy lies what it is of.
  ASSERT_EQ(gathers.segment.memory.size(), 2u);
  EXPECT_EQ(gathers.segment.memory[0].bytes, kTokens * kWide * 2);
  EXPECT_EQ(gathers.segment.memory[1].bytes, -kTokens * kWide * 2);
}

TEST(TensorParallel, WithoutSequenceParallelTheColumnsNeedNoGather) {
  EXPECT_EQ(Written(job(4, false, TpOverlap::none), column_forward).size(), 2 + 1);
}

TEST(TensorParallel, ChunkedMultipliesTheOwnShardWhileTheOthersArrive) {
  const Written w(job(4, true, TpOverlap::chunked), column_forward);
  const std::vector<int> parts = w.named("column");
  const int gather = w.only("column all-gather");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_FALSE(w.order.before(gather, parts[0]));
  EXPECT_FALSE(w.order.before(parts[0], gather));
  EXPECT_TRUE(w.order.before(gather, parts[1]));
}

TEST(TensorParallel, UserbuffersMultiplyEachShardWhileTheNextOneArrives) {
  // The matmul of shard i needs the i-th arrival and neither waits for the next one nor holds it up.
  const Written w(job(4, true, TpOverlap::userbuffers), column_forward);
  const std::vector<int> parts = w.named("column"), gathers = w.named("column all-gather");
  ASSERT_EQ(parts.size(), 4u);
  ASSERT_EQ(gathers.size(), 3u);
  for (int i = 0; i < 4; ++i) {
    if (i > 0) {
      EXPECT_TRUE(w.order.before(gathers[i - 1], parts[i])) << i;
    }
    if (i == 3) break;
    EXPECT_FALSE(w.order.before(gathers[i], parts[i])) << i;
    EXPECT_FALSE(w.order.before(parts[i], gathers[i])) << i;
  }
}

TEST(TensorParallel, AUserbuffersRingMovesTheBytesOfOneGather) {
  // A gather of n bytes over t ranks brings each n (t - 1)/t; t - 1 hops of a shard, n/t, bring it as much.
  for (const int tp : {2, 4}) {
    const Written w(job(tp, true, TpOverlap::userbuffers), column_forward);
    std::int64_t bytes = 0;
    for (const int at : w.named("column all-gather")) {
      EXPECT_EQ(w.collective(at).kind, CollectiveKind::shift);
      bytes += w.collective(at).bytes;
    }
    EXPECT_EQ(bytes, kTokens * kWide * 2 * (tp - 1) / tp);
  }
}

TEST(TensorParallel, UserbuffersReduceEachPieceWhileTheNextOneIsMultiplied) {
  for (const bool sp : {false, true}) {
    const Written w(job(4, sp, TpOverlap::userbuffers), row_forward);
    const std::vector<int> parts = w.named("row"), reduces = w.named(sp ? "row reduce-scatter" : "row all-reduce");
    ASSERT_EQ(parts.size(), 4u);
    ASSERT_EQ(reduces.size(), 4u);
    std::int64_t bytes = 0;
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(w.order.before(parts[i], reduces[i]));
      if (i < 3) {
        EXPECT_FALSE(w.order.before(reduces[i], parts[i + 1]));
      }
      EXPECT_TRUE(w.order.before(reduces[i], w.only("behind")));
      bytes += w.collective(reduces[i]).bytes;
    }
    // Hops of a ring carry what a rank sends in all; reductions of pieces are of all bytes.
    EXPECT_EQ(bytes, kTokens * kWide * 2 * (sp ? 3 : 4) / 4);
  }
}

TEST(TensorParallel, ReducesTheInputGradientBesideTheWeightGradientIfOverlapped) {
  for (const TpOverlap overlap : {TpOverlap::none, TpOverlap::wgrad, TpOverlap::chunked, TpOverlap::userbuffers}) {
    const Written w(job(4, false, overlap), column_backward);
    const int reduce = w.only("column input gradient all-reduce");
    EXPECT_EQ(w.collective(reduce).bytes, kTokens * kWide * 2);
    EXPECT_TRUE(w.order.before(w.only("column input gradient"), reduce));
    EXPECT_EQ(w.order.before(reduce, w.only("column weight gradient")), overlap == TpOverlap::none);
    EXPECT_TRUE(w.order.before(reduce, w.only("behind")));
  }
}

TEST(TensorParallel, GathersTheInputAgainForTheWeightGradient) {
  for (const TpOverlap overlap : {TpOverlap::none, TpOverlap::wgrad, TpOverlap::chunked, TpOverlap::userbuffers}) {
    const Written w(job(4, true, overlap), column_backward);
    const int gather = w.only("column input all-gather"), scatter = w.only("column input gradient reduce-scatter");
    EXPECT_EQ(w.collective(gather).bytes, kTokens * kWide * 2);
    EXPECT_TRUE(w.order.before(gather, w.only("column weight gradient")));
    EXPECT_EQ(w.order.before(gather, w.only("column input gradient")), overlap == TpOverlap::none);
    EXPECT_EQ(w.order.before(scatter, w.only("column weight gradient")), overlap == TpOverlap::none);
    EXPECT_TRUE(w.order.before(scatter, w.only("behind")));
  }
}

TEST(TensorParallel, GathersTheGradientOfARowParallelLayerFirst) {
  const Written w(job(4, true, TpOverlap::wgrad), row_backward);
  const int gather = w.only("row gradient all-gather");
  EXPECT_EQ(w.collective(gather).bytes, kTokens * kWide * 2);
  EXPECT_TRUE(w.order.before(gather, w.only("row input gradient")));
  EXPECT_TRUE(w.order.before(gather, w.only("row weight gradient")));
}

struct Accumulation {
  bool fused;
  spec::Dtype gradients;
  int microbatches;
  bool accumulates;  // in the matmul itself
  spec::Dtype out;
  int kernels;  // besides
};

TEST(TensorParallel, WeightGradientsAccumulateInTheMatmulOnlyWhenThatIsFused) {
  using spec::Dtype;
  for (const Accumulation& want :
       {Accumulation{true, Dtype::fp32, 4, true, Dtype::fp32, 0},
        Accumulation{true, Dtype::bf16, 4, true, Dtype::bf16, 0},
        Accumulation{false, Dtype::bf16, 4, false, Dtype::bf16, 1},
        Accumulation{false, Dtype::bf16, 1, false, Dtype::bf16, 0},  // one microbatch: its gradient is the sum
        Accumulation{false, Dtype::fp32, 1, false, Dtype::bf16, 1}}) {
    const spec::Job j = toy::job({.microbatches = want.microbatches}, [&](spec::Job& job) {
      job.strategy.fused_kernels.grad_accumulation = want.fused;
      job.training.gradient_dtype = want.gradients;
    });
    const Written w(j, row_backward);
    const auto& matmul = std::get<plan::Matmul>(w.pen.work(w.segment.operators[w.only("row weight gradient")]));
    EXPECT_EQ(matmul.accumulates, want.accumulates);
    EXPECT_EQ(matmul.out, want.out);
    EXPECT_EQ(w.named("row gradient accumulation").size(), static_cast<std::size_t>(want.kernels));
  }
}

TEST(TensorParallel, QueriesKeysAndValuesAreCutEvenlyWhereRanksGatherThem) {
  // 8 heads of 32 and 2 of keys and of values on 4 ranks: 64 of queries and 32 of each copied head, or a fourth of all
  // 256 + 2 x 64. Parameters are the product's.
  const auto sizes = [](bool gathers) {
    const spec::Job j = toy::job({.tp = 4, .sp = true}, [&](spec::Job& job) {
      job.model.kv_heads = 2;
      job.model.bias = false;
      job.framework.gathers_qkv = gathers;
    });
    const plan::Context c(j);
    EXPECT_EQ(c.qkv_width, 64 + 2 * 32);  // that attention sees
    return std::pair(plan::qkv_linear(c).out, plan::layer_parameters(c, 0).dense);
  };
  const auto copied = sizes(false), gathered = sizes(true);
  EXPECT_EQ(copied.first, 128);
  EXPECT_EQ(gathered.first, 96);
  EXPECT_EQ(copied.second - gathered.second, 256 * (128 - 96));
}

TEST(TensorParallel, ABiasAddsOneReductionOfItsGradient) {
  const Written w(job(1, false, TpOverlap::none), [](TensorParallel& t) {
    t.row_backward({"row", kNarrow, kWide, true});
  });
  const auto& sum = std::get<plan::MemoryBound>(w.pen.work(w.segment.operators[w.only("row bias gradient")]));
  EXPECT_EQ(sum.read, kTokens * kWide * 2);
}

}  // namespace
