// tests/core/plan/builder_test.cpp -- the pen that plans are written with.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/builder.h"

#include <gtest/gtest.h>

#include "tests/core/plan/walk.h"

namespace {

using plan::Category;
using plan::Channel;
using plan::Stream;

const plan::Work kernel = plan::MemoryBound{};
const plan::Work reduction = plan::Collective{plan::CollectiveKind::all_reduce, 64, {.size = 2}};

TEST(Pool, EqualWorksNamesAndChannelsShareANumber) {
  walk::Pen pen;
  const plan::Matmul a{1, 2, 3}, b{1, 2, 4};
  EXPECT_EQ(pen.pool.work(a), pen.pool.work(a));
  EXPECT_NE(pen.pool.work(a), pen.pool.work(b));
  EXPECT_EQ(pen.pool.name("x"), pen.pool.name("x"));
  EXPECT_NE(pen.pool.name("x"), pen.pool.name("y"));
  const Channel up{Channel::Kind::forward_edge, {}, 0, 1}, down{Channel::Kind::backward_edge, {}, 0, 1};
  EXPECT_EQ(pen.pool.channel(up), pen.pool.channel(up));
  EXPECT_NE(pen.pool.channel(up), pen.pool.channel(down));
  EXPECT_EQ(pen.plan.works.size(), 2u);
  EXPECT_EQ(pen.plan.names.size(), 2u);
  EXPECT_EQ(pen.plan.channels.size(), 2u);
}

TEST(SegmentBuilder, OperatorsKeepTheOrderOfCallsAndTheirTags) {
  walk::Pen pen;
  pen.out.compute(kernel, "first", 3);
  pen.out.phase = plan::Phase::backward;
  pen.out.layer = 7;
  pen.out.communicate(reduction, "second", Stream::dp, 5, {Stream::compute});
  const plan::Segment s = pen.out.finish();
  ASSERT_EQ(s.operators.size(), 2u);
  EXPECT_EQ(pen.name(s.operators[0]), "first");
  EXPECT_EQ(s.operators[0].launches, 3);
  EXPECT_EQ(s.operators[0].phase, plan::Phase::forward);
  EXPECT_EQ(s.operators[0].layer, -1);
  EXPECT_EQ(s.operators[0].channel, -1);
  EXPECT_EQ(s.operators[1].stream, Stream::dp);
  EXPECT_EQ(s.operators[1].channel, 5);
  EXPECT_EQ(s.operators[1].phase, plan::Phase::backward);
  EXPECT_EQ(s.operators[1].layer, 7);
  EXPECT_EQ(s.operators[1].waits[0], plan::event_of(Stream::compute));
}

TEST(SegmentBuilder, AJoinIsWaitedForByTheNextComputeOperatorAndByNoOther) {
  walk::Pen pen;
  pen.out.join(Stream::tp);
  pen.out.join(Stream::tp);  // twice is once
  pen.out.communicate(reduction, "not by this", Stream::dp, 0, {});
  pen.out.compute(kernel, "by this", 1, {Stream::recv_prev});
  pen.out.compute(kernel, "not by that");
  const plan::Segment s = pen.out.finish();
  EXPECT_EQ(s.operators[0].waits[0], -1);
  EXPECT_EQ(s.operators[1].waits[0], plan::event_of(Stream::tp));
  EXPECT_EQ(s.operators[1].waits[1], plan::event_of(Stream::recv_prev));
  EXPECT_EQ(s.operators[1].waits[2], -1);
  EXPECT_EQ(s.operators[2].waits[0], -1);
}

TEST(SegmentBuilder, AnEventOfItsOwnIsRecordedByTheLatestOperator) {
  walk::Pen pen;
  pen.out.communicate(reduction, "gather", Stream::tp, 0, {});
  pen.out.record(plan::kGathered);
  pen.out.join(plan::kGathered);
  pen.out.compute(kernel, "reader");
  const plan::Segment s = pen.out.finish();
  EXPECT_EQ(s.operators[0].records, plan::kGathered);
  EXPECT_EQ(s.operators[1].waits[0], plan::kGathered);
}

TEST(SegmentBuilder, TakesBeforeTheNextOperatorAndGivesAfterTheLatest) {
  walk::Pen pen;
  pen.out.take(Category::activations, 10);
  pen.out.compute(kernel, "0");
  pen.out.take(Category::workspace, 20);
  pen.out.compute(kernel, "1");
  pen.out.give(Category::workspace, 20);
  pen.out.take(Category::logits, 0);  // nothing is no change
  const plan::Segment s = pen.out.finish();
  ASSERT_EQ(s.memory.size(), 3u);
  EXPECT_EQ(s.memory[0].at, 0);
  EXPECT_FALSE(s.memory[0].after);
  EXPECT_EQ(s.memory[0].bytes, 10);
  EXPECT_EQ(s.memory[1].at, 1);
  EXPECT_FALSE(s.memory[1].after);
  EXPECT_EQ(s.memory[2].at, 1);
  EXPECT_TRUE(s.memory[2].after);
  EXPECT_EQ(s.memory[2].bytes, -20);
  EXPECT_EQ(s.memory[2].category, Category::workspace);
}

TEST(SegmentBuilder, WhatWaitsForComputeWaitsForWhatComputeWaitsFor) {
  // Compute is told to wait for a receive; a collective behind compute comes before the next kernel does.
  walk::Pen pen;
  pen.out.compute(kernel, "0");
  pen.out.join(Stream::recv_next);
  pen.out.communicate(plan::Collective{}, "1", Stream::tp, 0, {Stream::compute});
  pen.out.communicate(plan::Collective{}, "2", Stream::gather, 0, {});
  pen.out.compute(kernel, "3");
  const plan::Segment s = pen.out.finish();
  ASSERT_EQ(s.operators.size(), 4u);
  EXPECT_EQ(s.operators[1].waits[0], plan::event_of(Stream::compute));
  EXPECT_EQ(s.operators[1].waits[1], plan::event_of(Stream::recv_next));
  EXPECT_EQ(s.operators[2].waits[0], -1);
  EXPECT_EQ(s.operators[3].waits[0], plan::event_of(Stream::recv_next));
}

}  // namespace
