// real/executor/routing.h -- where the copies of tokens that a layer of experts makes lie, at each station of their
// way. The numbers are on the host, which reads the counts of each expert before it sends.
//
//   by expert   this rank's copies, in the order of all experts
//   received    rows of this rank's experts, from each expert-parallel rank in turn, of each in the order of experts
//   gathered    the same, those that each expert-tensor-parallel rank received in turn
//   sorted      the gathered ones in the order of this rank's experts
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace real {

using Counts = std::vector<std::int64_t>;

struct Routing {
  Counts by_expert;              // copies of this rank, for each expert of the model
  std::vector<Counts> received;  // from each expert-parallel rank, for each expert of this rank
  std::vector<Counts> gathered;  // what each expert-tensor-parallel rank received: all of its `received`, flat
  std::int64_t local = 1;        // experts of this rank
  Counts visits, visited;        // deepep: tokens that go to each expert-parallel rank, and that come from it

  static std::int64_t sum(const Counts& c) { return std::accumulate(c.begin(), c.end(), std::int64_t{0}); }
  std::int64_t rows_received() const {
    std::int64_t rows = 0;
    for (const Counts& c : received) rows += sum(c);
    return rows;
  }
  std::int64_t rows_gathered() const {
    std::int64_t rows = 0;
    for (const Counts& c : gathered) rows += sum(c);
    return rows;
  }
  /// Rows of each of this rank's experts.
  Counts of_experts() const {
    Counts out(local, 0);
    for (const Counts& c : gathered) {
      for (std::size_t i = 0; i < c.size(); ++i) out[i % local] += c[i];
    }
    return out;
  }
};

}  // namespace real
