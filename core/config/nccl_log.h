// core/config/nccl_log.h -- what nccl-tests prints (text, or the JSON of its -J option), as measured collectives.
//
// Text: a line "# Collective test starting: all_reduce_perf" names the test (older versions leave it out; then the
// file's name has to hold it), "#  Rank 0 Group 0 Pid 1 on host device 0 [..] name" lines tell ranks and hosts, a
// header
// "# size count type redop root time algbw busbw #wrong time ..." gives the columns, out of place first, in place
// behind. Lines of other programs in between (NCCL INFO, mpirun) are passed over; what mpirun puts before a line is
// taken off. Source: NVIDIA/nccl-tests README.md, doc/PERFORMANCE.md (sizes, bus bandwidth), src/util.cu (columns, JSON
// keys). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace config {

struct NcclRow {
  std::int64_t bytes = 0;                // as plan::Collective counts them
  base::Seconds out_of_place, in_place;  // zero: not printed
  /// Out of place when it was printed.
  base::Seconds time() const { return out_of_place.si() > 0 ? out_of_place : in_place; }
};

/// One test: one table.
struct NcclLog {
  std::string file, test;  // "all_reduce_perf"
  std::string op;          // "all_reduce" ... "send"; empty: a test that Forerun has no collective for
  std::string version;     // of nccl-tests, where it is told
  int ranks = 0;           // 0: not told
  int hosts = 0;           // 0: not told
  std::vector<NcclRow> rows;
  std::vector<std::string> notes;  // rows left out, an end that is missing
};

/// Every table of a log. Throws base::InputError: no table, a row that cannot be read (with its line and column), a
/// test whose name is told nowhere.
std::vector<NcclLog> read_nccl_log(const std::string& path);
/// The same from text; `name` stands for the file.
std::vector<NcclLog> parse_nccl_log(std::string_view text, const std::string& name);

}  // namespace config
