// tests/real/measure/event_board_test.cpp -- tests real/measure/event_board.h, by the rules of core/plan/plan.h.
// SPDX-License-Identifier: Apache-2.0
#include "real/measure/event_board.h"

#include <gtest/gtest.h>

namespace {

using plan::Stream;
constexpr plan::EventId kOwn = plan::kGathered;

TEST(EventBoard, AnEventThatWasNeverRecordedHoldsNobodyUp) {
  const real::EventBoard board;
  EXPECT_FALSE(board.must_wait(Stream::compute, plan::event_of(Stream::tp)));
  EXPECT_FALSE(board.must_wait(Stream::compute, -1));  // no wait at all
}

TEST(EventBoard, AnotherStreamsRecordIsWaitedForAndTheOwnIsNot) {
  real::EventBoard board;
  board.record(kOwn, Stream::tp);
  EXPECT_TRUE(board.must_wait(Stream::compute, kOwn));
  EXPECT_FALSE(board.must_wait(Stream::tp, kOwn));
}

TEST(EventBoard, TheLatestRecordCounts) {
  real::EventBoard board;
  board.record(kOwn, Stream::tp);
  board.record(kOwn, Stream::compute);
  EXPECT_FALSE(board.must_wait(Stream::compute, kOwn));
  EXPECT_TRUE(board.must_wait(Stream::tp, kOwn));
}

TEST(EventBoard, WhatTheHostHasWaitedForHoldsNobodyUp) {
  real::EventBoard board;
  board.record(kOwn, Stream::tp);
  board.clear();
  EXPECT_FALSE(board.must_wait(Stream::compute, kOwn));
}

// What tp is given is behind nothing before tp records, and behind it for compute when that waits.
TEST(EventBoard, AStreamIsBehindWhatItHasWaitedFor) {
  real::EventBoard board;
  const auto given = board.next(Stream::tp);
  board.record(kOwn, Stream::tp);
  EXPECT_FALSE(board.is_behind(Stream::compute, Stream::tp, given));
  board.wait(Stream::compute, kOwn);
  EXPECT_TRUE(board.is_behind(Stream::compute, Stream::tp, given));
  EXPECT_FALSE(board.is_behind(Stream::compute, Stream::tp, board.next(Stream::tp)));  // what comes later is not
  EXPECT_FALSE(board.is_behind(Stream::dp, Stream::tp, given));
}

// dp waits for compute, which had waited for tp.
TEST(EventBoard, AStreamIsBehindWhatTheOtherHadWaitedForWhenItRecorded) {
  real::EventBoard board;
  const auto given = board.next(Stream::tp);
  board.record(plan::event_of(Stream::compute), Stream::compute);
  board.record(plan::event_of(Stream::tp), Stream::tp);
  board.wait(Stream::compute, plan::event_of(Stream::tp));
  board.wait(Stream::dp, plan::event_of(Stream::compute));  // a record from before compute's wait
  EXPECT_FALSE(board.is_behind(Stream::dp, Stream::tp, given));
  board.record(plan::event_of(Stream::compute), Stream::compute);
  board.wait(Stream::dp, plan::event_of(Stream::compute));
  EXPECT_TRUE(board.is_behind(Stream::dp, Stream::tp, given));
}

TEST(EventBoard, AllStreamsAreBehindWhatTheHostHasWaitedForRecordedOrNot) {
  real::EventBoard board;
  const auto given = board.next(Stream::tp);
  board.clear();
  EXPECT_TRUE(board.is_behind(Stream::compute, Stream::tp, given));
  EXPECT_FALSE(board.is_behind(Stream::compute, Stream::tp, board.next(Stream::tp)));
}

}  // namespace
