// tests/real/launch/board_test.cpp -- what the store's table knows.
// SPDX-License-Identifier: Apache-2.0
#include "real/launch/board.h"

#include <gtest/gtest.h>

namespace {

TEST(Board, ABarrierIsOverOnceAllHaveComeAndCanBeUsedAgain) {
  real::Board board(2);
  const int first = board.arrive("start", 0);
  EXPECT_FALSE(board.over("start", first));
  board.arrive("start", 1);
  EXPECT_TRUE(board.over("start", first));
  const int second = board.arrive("start", 1);
  EXPECT_FALSE(board.over("start", second));
}

TEST(Board, NamesThoseWhoAreMissing) {
  real::Board board(8);
  for (const int rank : {0, 1, 3, 4, 6, 7}) board.arrive(real::kJoin, rank);
  EXPECT_EQ(board.missing(real::kJoin), "only 6 of 8 ranks came: missing 2, 5");
  board.arrive("start", 0);
  EXPECT_EQ(board.missing("start"), "only 1 of 8 ranks came to 'start': missing 1 to 7");
  EXPECT_EQ(board.missing("end"), "only 0 of 8 ranks came to 'end': missing 0 to 7");
}

TEST(Board, TheFirstFailureIsTheCauseOfTheOthers) {
  real::Board board(3);
  board.lose(2, "node7, process 4711");
  board.fail(real::gave_up(1, "rank 2 is gone"));
  EXPECT_EQ(board.failure(), "rank 2 (node7, process 4711) ended before the others");
}

TEST(Board, WhoHasLeftIsNotLost) {
  real::Board board(1);
  board.leave(0);
  board.lose(0, "node7");
  EXPECT_EQ(board.failure(), std::nullopt);
  EXPECT_TRUE(board.all_left());
}

}  // namespace
