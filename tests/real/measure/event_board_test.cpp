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

}  // namespace
