// tests/real/executor/shares_test.cpp -- which tokens each rank of a ring holds of documents that are cut one by one.
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/core/plan/walk.h"

namespace {

using Parts = std::vector<std::pair<std::int64_t, std::int64_t>>;  // begin, length

Parts parts(const real::Stretches& stretches) {
  Parts out;
  for (const plan::Stretch& s : stretches) out.emplace_back(s.begin, s.length);
  return out;
}

/// One behind the other.
real::Stretches documents(const std::vector<std::int64_t>& lengths) {
  real::Stretches out;
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    out.push_back({begin, length});
    begin += length;
  }
  return out;
}

Parts dealt(const std::vector<std::int64_t>& lengths, int rank, int cp, bool zigzag) {
  return parts(real::deal_documents(documents(lengths), rank, cp, zigzag));
}

TEST(Shares, OfOneDocumentAreThoseOfTheSequence) {
  for (const bool zigzag : {false, true}) {
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(dealt({64}, rank, 4, zigzag), parts(plan::stretches_of(rank, 4, 64, zigzag)));
    }
  }
}

TEST(Shares, AreTheSameChunksOfEveryDocument) {
  // 8 and 4 tokens over two ranks. In parts: halves. In a zigzag: of four chunks the outer two and the inner two.
  EXPECT_EQ(dealt({8, 4}, 0, 2, false), (Parts{{0, 4}, {8, 2}}));
  EXPECT_EQ(dealt({8, 4}, 1, 2, false), (Parts{{4, 4}, {10, 2}}));
  EXPECT_EQ(dealt({8, 4}, 0, 2, true), (Parts{{0, 2}, {6, 2}, {8, 1}, {11, 1}}));
  EXPECT_EQ(dealt({8, 4}, 1, 2, true), (Parts{{2, 2}, {4, 2}, {9, 1}, {10, 1}}));
}

TEST(Shares, WhatChunksDoNotDivideGoesToTheNextInTurn) {
  // 5 tokens in chunks of 2, 1, 1, 1; then 3 tokens, of which the first chunk, whose turn it was, has none.
  EXPECT_EQ(dealt({5, 3}, 0, 2, true), (Parts{{0, 2}, {4, 1}, {7, 1}}));
  EXPECT_EQ(dealt({5, 3}, 1, 2, true), (Parts{{2, 1}, {3, 1}, {5, 1}, {6, 1}}));
}

TEST(Shares, HaveEveryTokenOnceAndAsManyOnEachRank) {
  walk::Dice dice(71);
  for (int n = 0; n < 200; ++n) {
    const int cp = dice.of({2, 3, 4, 8});
    const bool zigzag = dice.coin();
    const std::int64_t tokens = std::int64_t{2} * cp * dice.from(1, 9);
    std::vector<std::int64_t> lengths;
    for (std::int64_t left = tokens; left > 0; left -= lengths.back()) {
      lengths.push_back(std::min<std::int64_t>(left, dice.from(1, 20)));
    }
    std::vector<int> holders(tokens);
    for (int rank = 0; rank < cp; ++rank) {
      const real::Stretches own = real::deal_documents(documents(lengths), rank, cp, zigzag);
      EXPECT_EQ(real::tokens_of(own), tokens / cp) << n;
      for (const plan::Stretch& s : own) {
        for (std::int64_t i = 0; i < s.length; ++i) ++holders.at(s.begin + i);
      }
    }
    EXPECT_THAT(holders, testing::Each(1)) << n;
  }
}

}  // namespace
