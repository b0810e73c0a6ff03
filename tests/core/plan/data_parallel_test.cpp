// tests/core/plan/data_parallel_test.cpp -- gradients in buckets, parameters gathered.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/data_parallel.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "core/plan/build.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::CollectiveKind;

spec::Job job(int dp, int zero, double bucket_bytes) {
  return toy::job({.dp = dp, .zero = zero},
                  [=](spec::Job& j) { j.framework.gradient_bucket = base::Bytes(bucket_bytes); });
}

/// The collectives that carry gradients of these layers (in parameters), in order.
std::vector<plan::Collective> reduces(const spec::Job& j, const std::vector<std::int64_t>& layers) {
  const plan::Context c(j);
  walk::Pen pen;
  plan::GradientBuckets buckets(c, pen.out);
  for (const std::int64_t parameters : layers) {
    pen.out.compute(plan::MemoryBound{}, "gradient");
    buckets.add({parameters, 0});
  }
  buckets.flush();
  std::vector<plan::Collective> out;
  for (const plan::Operator& op : pen.out.finish().operators) {
    if (op.stream == plan::Stream::compute) continue;
    EXPECT_EQ(op.stream, plan::Stream::dp);
    EXPECT_EQ(op.waits[0], plan::event_of(plan::Stream::compute));
    out.push_back(std::get<plan::Collective>(pen.work(op)));
  }
  return out;
}

TEST(GradientBuckets, CoverEveryParameterOnceWithAnyBucketSize) {
  // fp32: 4 bytes a parameter. A bucket is padded to a multiple of the group, so their sum is short of none and over by
  // less than the group's size for each bucket.
  walk::Dice dice(41);
  for (int i = 0; i < 500; ++i) {
    const int dp = dice.from(2, 9);
    const spec::Job j = job(dp, dice.below(2), dice.of({0, 4, 64, 1000, 4096, 40'000, 1'000'000}));
    std::vector<std::int64_t> layers;
    for (int n = dice.from(1, 6); n > 0; --n) layers.push_back(dice.from(0, 20'000));
    const std::int64_t all = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
    std::int64_t sent = 0;
    const std::vector<plan::Collective> ops = reduces(j, layers);
    for (const plan::Collective& op : ops) {
      EXPECT_EQ(op.bytes % (4 * dp), 0);
      sent += op.bytes / 4;
    }
    EXPECT_GE(sent, all);
    EXPECT_LE(sent, all + static_cast<std::int64_t>(ops.size()) * (dp - 1));
  }
}

TEST(GradientBuckets, GoWhenFullAndTheRestAtTheEnd) {
  // Buckets of 1000 parameters, layers of 600: full after the second and the fourth, with 200 and 400 left over.
  const std::vector<plan::Collective> ops = reduces(job(2, 0, 4000), {600, 600, 600, 600});
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_EQ(ops[0].bytes, 4000);
  EXPECT_EQ(ops[1].bytes, 4000);
  EXPECT_EQ(ops[2].bytes, 4 * 400);
}

TEST(GradientBuckets, OfOneLayerAreAtMostEight) {
  // A layer of 100,000 parameters would fill a hundred buckets of 1000.
  EXPECT_EQ(reduces(job(2, 0, 4000), {100'000}).size(), 8u);
}

TEST(GradientBuckets, WithoutASizeAreOneForAll) {
  const std::vector<plan::Collective> ops = reduces(job(4, 0, 0), {600, 601});
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(ops[0].bytes, 4 * 1204);  // 1201 padded to a multiple of 4
}

TEST(GradientBuckets, GrowWithRanksBeyondTheFrameworksNumber) {
  // 1000 parameters for up to 2 ranks, 4000 for 8: layers of 600 fill one bucket of 4000 after the seventh.
  spec::Job j = job(8, 0, 4000);
  const plan::Context plain(j);
  EXPECT_EQ(plan::bucket_elements(plain, base::Bytes(4000), 4), 1000);
  j.framework.bucket_ranks = 2;
  const plan::Context grown(j);
  EXPECT_EQ(plan::bucket_elements(grown, base::Bytes(4000), 4), 4000);
  const std::vector<plan::Collective> ops = reduces(j, std::vector<std::int64_t>(8, 600));
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].bytes, 4 * 4000);
  EXPECT_EQ(ops[1].bytes, 4 * 800);
  j.framework.bucket_ranks = 8;  // as many ranks as that: not grown
  const plan::Context at(j);
  EXPECT_EQ(plan::bucket_elements(at, base::Bytes(4000), 4), 1000);
}

TEST(GradientBuckets, ExistOnTheFirstChunkAloneWhereTheFrameworkSaysSo) {
  spec::Job j = toy::job({.pp = 2, .vpp = 2, .dp = 2, .zero = 1, .microbatches = 2}, [](spec::Job& job) {
    job.framework.gradient_bucket = base::Bytes(400);
    job.framework.parameter_bucket = base::Bytes(400);
    job.strategy.overlap.grad_reduce = job.strategy.overlap.param_gather = true;
  });
  const auto sent = [](const spec::Job& of, int role, const char* name) {
    const plan::Plan p = plan::build(of);
    return walk::count(p, p.roles[static_cast<std::size_t>(role)], name);
  };
  // 4 layers in 4 chunks; a layer fills far more than eight buckets of 100 parameters and is cut into eight pieces and
  // a rest. The last stage holds two chunks: two collectives when whole.
  EXPECT_GT(sent(j, 1, "gradient reduce-scatter"), 8);
  const int first = sent(j, 0, "gradient reduce-scatter");
  j.framework.whole_later_chunks = true;
  EXPECT_EQ(sent(j, 1, "gradient reduce-scatter"), 2);
  EXPECT_EQ(sent(j, 1, "parameter all-gather"), 2);
  const int left = sent(j, 0, "gradient reduce-scatter");
  EXPECT_GT(left, 8);  // its first chunk keeps its buckets
  EXPECT_LT(left, first);
}

TEST(ParameterBuckets, HoldLayersOfTheirSizeWhateverTheFirstOneHas) {
  // A dense layer of 12 x 256^2 parameters before three of 16 experts: a bucket of one layer of experts takes in no
  // second one because the dense layer is small.
  const auto gathers = [](bool dense_first) {
    const spec::Job j = toy::job({.dp = 2, .zero = 1}, [&](spec::Job& job) {
      job.model.moe = spec::Moe{.experts = 16, .top_k = 2, .ffn = 512, .first_dense = dense_first ? 1 : 0};
      job.model.bias = false;
      job.strategy.overlap.param_gather = true;
      job.framework.parameter_bucket = base::Bytes(2 * (16 * 2 * 256 * 512 + 5 * 256 * 256));
    });
    const plan::Context c(j);
    return plan::layers_a_gather(c, plan::chunks_of(c)[0][0], true);
  };
  EXPECT_EQ(gathers(false), 1);
  EXPECT_EQ(gathers(true), 1);
}

TEST(GradientBuckets, AreReducedWholeAndScatteredUnderZeroOne) {
  EXPECT_EQ(reduces(job(2, 0, 0), {10}).front().kind, CollectiveKind::all_reduce);
  EXPECT_EQ(reduces(job(2, 1, 0), {10}).front().kind, CollectiveKind::reduce_scatter);
  EXPECT_EQ(reduces(job(2, 1, 0), {10}).front().group.size, 2);
}

TEST(GradientBuckets, OfOneReplicaAreNotSent) { EXPECT_TRUE(reduces(job(1, 1, 40), {1000}).empty()); }

TEST(GatherParameters, CarriesThemInStorageFormatPaddedToTheGroup) {
  for (const bool waits : {false, true}) {
    const spec::Job j = job(4, 1, 0);
    const plan::Context c(j);
    walk::Pen pen;
    plan::gather_parameters(c, pen.out, {1001, 0}, waits);
    const plan::Segment s = pen.out.finish();
    ASSERT_EQ(s.operators.size(), 1u);
    const auto& gather = std::get<plan::Collective>(pen.work(s.operators[0]));
    EXPECT_EQ(gather.kind, CollectiveKind::all_gather);
    EXPECT_EQ(gather.bytes, 2 * 1004);
    EXPECT_EQ(s.operators[0].waits[0], waits ? plan::event_of(plan::Stream::compute) : -1);
  }
}

TEST(GatherParameters, OfEveryStageLeaveAtTheStartOfTheStep) {
  // Two buckets a chunk. The last stage's first gather waits for nothing and goes in front of the receive, at which the
  // host stops; its second one leaves when the first is there, in front of all compute. Otherwise the stages would
  // gather one after the other, and a host that waits inside of a layer would hold the next one's up.
  const spec::Job j = toy::job({.pp = 2, .dp = 2, .zero = 1, .microbatches = 2}, [](spec::Job& job) {
    job.framework.parameter_bucket = base::Bytes(400);
    job.framework.synchronizes_p2p = true;
    job.strategy.overlap.param_gather = true;
  });
  const plan::Plan p = plan::build(j);
  std::vector<std::string> order;
  walk::operators(p, p.roles[1], [&](const plan::Call& call, const plan::Operator& op) {
    if (call.microbatch != 0 || op.phase != plan::Phase::forward) return;
    const std::string& name = p.names[op.name];
    if (order.empty()) {
      EXPECT_EQ(op.waits[0], -1) << name;
    }
    if (order.empty() || order.back() != "compute" || op.stream != plan::Stream::compute) {
      const bool exchange = op.stream != plan::Stream::compute || name == "exchange awaited by the host";
      order.push_back(exchange ? name : "compute");
    }
  });
  EXPECT_EQ(order, (std::vector<std::string>{"parameter all-gather", "receive activations",
                                             "exchange awaited by the host", "parameter all-gather", "compute"}));
}

TEST(GatherParameters, OfOneReplicaSendsNothing) {
  const spec::Job j = job(1, 1, 0);
  const plan::Context c(j);
  walk::Pen pen;
  plan::gather_parameters(c, pen.out, {1001, 0}, true);
  EXPECT_TRUE(pen.out.empty());
}

}  // namespace
