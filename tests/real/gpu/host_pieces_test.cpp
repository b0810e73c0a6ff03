// tests/real/gpu/host_pieces_test.cpp -- real/gpu/host_pieces.h. SPDX-License-Identifier: Apache-2.0
#include "real/gpu/host_pieces.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using real::kHostPiece;

TEST(HostPieces, CoverEachNumberOnce) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, kHostPiece, kHostPiece + 1, 5 * kHostPiece - 1}) {
    std::vector<int> seen(count);
    real::in_pieces(count, 3, [&](std::size_t begin, std::size_t end) {
      EXPECT_LE(end - begin, kHostPiece);
      for (std::size_t i = begin; i < end; ++i) ++seen[i];
    });
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(count));
  }
}

TEST(HostPieces, AddUpToTheSameBitsOnAnyNumberOfCores) {
  std::vector<double> values(3 * kHostPiece + 7);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
  const auto sum = [&](unsigned cores) {
    return real::sum_of_pieces(values.size(), cores, [&](std::size_t begin, std::size_t end) {
      double of_piece = 0;
      for (std::size_t i = begin; i < end; ++i) of_piece += values[i];
      return of_piece;
    });
  };
  const double plain = std::accumulate(values.begin(), values.end(), 0.0);
  EXPECT_NEAR(sum(1), plain, 1e-9);
  for (const unsigned cores : {2u, 3u, 7u}) EXPECT_EQ(sum(cores), sum(1));
}

TEST(HostPieces, ARankHasACoreAtLeast) {
  EXPECT_GE(real::cores_of_a_rank(1), real::cores_of_a_rank(2));
  EXPECT_EQ(real::cores_of_a_rank(1 << 20), 1u);
  EXPECT_GE(real::cores_of_a_rank(0), 1u);
}

}  // namespace
