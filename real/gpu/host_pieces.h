// real/gpu/host_pieces.h -- what the host computes of many numbers, on the cores that this rank may use.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "core/base/parallel.h"

namespace real {

/// Numbers of a piece: some tens of microseconds, so that starting a thread is little beside it.
inline constexpr std::size_t kHostPiece = std::size_t{1} << 17;

/// Cores for a rank: those that it is bound to, or its share of a machine that it is not bound in.
inline unsigned cores_of_a_rank(int ranks) {
  cpu_set_t mine;
  const auto all = static_cast<unsigned>(std::max(get_nprocs(), 1));
  const bool known = sched_getaffinity(0, sizeof mine, &mine) == 0;
  const unsigned bound = known ? static_cast<unsigned>(CPU_COUNT(&mine)) : all;
  return std::max(1u, bound < all ? bound : all / static_cast<unsigned>(std::max(ranks, 1)));
}

/// Calls body(begin, end) for the pieces of [0, count).
template <class Body>
void in_pieces(std::size_t count, unsigned cores, Body body) {
  const std::size_t pieces = (count + kHostPiece - 1) / kHostPiece;
  base::parallel_for(
      pieces, [&](std::size_t i) { body(i * kHostPiece, std::min(count, (i + 1) * kHostPiece)); }, cores);
}

/// The sum of body(begin, end) over them, in their order, so that cores make no difference.
template <class Body>
double sum_of_pieces(std::size_t count, unsigned cores, Body body) {
  std::vector<double> sums((count + kHostPiece - 1) / kHostPiece);
  in_pieces(count, cores, [&](std::size_t begin, std::size_t end) { sums[begin / kHostPiece] = body(begin, end); });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace real
