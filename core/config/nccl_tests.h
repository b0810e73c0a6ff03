// core/config/nccl_tests.h -- which collective each program of nccl-tests measures.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace config {

struct NcclTest {
  std::string_view program;  // without "_perf"
  std::string_view op;       // of ours; empty: none
};

/// sendrecv: every rank sends to the next and receives from the one before.
inline constexpr NcclTest kNcclTests[] = {
    {"all_reduce", "all_reduce"},
    {"all_gather", "all_gather"},
    {"reduce_scatter", "reduce_scatter"},
    {"alltoallv", ""},
    {"alltoall", "all_to_all"},
    {"broadcast", "broadcast"},
    {"sendrecv", "send"},
    {"reduce", ""},
    {"gather", ""},
    {"scatter", ""},
    {"hypercube", ""},
};

/// The test whose name stands in `text` ("/build/all_reduce_perf", "logs/all_reduce.txt"): the longest, as all_gather
/// holds gather. nullptr when none does.
inline const NcclTest* nccl_test_in(std::string_view text) {
  const NcclTest* best = nullptr;
  for (const NcclTest& test : kNcclTests) {
    if (text.find(test.program) != std::string_view::npos && (!best || test.program.size() > best->program.size())) {
      best = &test;
    }
  }
  return best;
}

}  // namespace config
