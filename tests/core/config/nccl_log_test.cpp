// tests/core/config/nccl_log_test.cpp -- logs written here in the form in which nccl-tests prints them.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/nccl_log.h"

#include <gtest/gtest.h>

#include "core/base/fault.h"

namespace {

const std::string kHead =
    "# nccl-tests version 2.17.1 nccl-headers=22700 nccl-library=22700\n"
    "# Collective test starting: all_gather_perf\n"
    "# nThread 1 nGpus 1 minBytes 1024 maxBytes 2048 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid    100 on      alpha device  0 [0000:19:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid    101 on       beta device  0 [0000:19:00] NVIDIA H100 80GB HBM3\n"
    "#\n"
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n";
const std::string kRows =
    "        1024           128     float    none      -1    12.50    0.08    0.04       0    11.25    0.09    0.05    "
    "N/A\n"
    "        2048           256     float    none      -1    13.00    0.16    0.08       0    12.00    0.17    0.09    "
    "N/A\n";
const std::string kFoot = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.06\n#\n";

std::string refusal(const std::string& text, const std::string& name = "my.log") {
  try {
    config::parse_nccl_log(text, name);
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "read without fault";
}

TEST(NcclLog, TellsTestRanksHostsAndBothTimes) {
  const auto logs = config::parse_nccl_log(kHead + kRows + kFoot, "my.log");
  ASSERT_EQ(logs.size(), 1u);
  const config::NcclLog& log = logs[0];
  EXPECT_EQ(log.test, "all_gather_perf");
  EXPECT_EQ(log.op, "all_gather");
  EXPECT_EQ(log.version, "2.17.1");
  EXPECT_EQ(log.ranks, 2);
  EXPECT_EQ(log.hosts, 2);
  ASSERT_EQ(log.rows.size(), 2u);
  EXPECT_EQ(log.rows[1].bytes, 2048);
  EXPECT_DOUBLE_EQ(log.rows[1].out_of_place.si(), 13e-6);
  EXPECT_DOUBLE_EQ(log.rows[1].in_place.si(), 12e-6);
  EXPECT_DOUBLE_EQ(log.rows[1].time().si(), 13e-6);
  EXPECT_TRUE(log.notes.empty());
}

TEST(NcclLog, SeveralTestsMayShareAFile) {
  const std::string other = "# Collective test starting: sendrecv_perf\n" + kHead.substr(kHead.find("# nThread"));
  const auto logs = config::parse_nccl_log(kHead + kRows + kFoot + other + kRows + kFoot, "my.log");
  ASSERT_EQ(logs.size(), 2u);
  EXPECT_EQ(logs[1].op, "send");
  EXPECT_EQ(logs[1].ranks, 2);
}

TEST(NcclLog, LinesOfOtherProgramsArePassedOver) {
  const std::string noise =
      "alpha:100:100 [0] NCCL INFO Bootstrap : Using eth0\n\n[alpha:1] 3 more processes have sent\n";
  std::string tagged;
  for (std::size_t at = 0; at < kRows.size();) {
    const std::size_t end = kRows.find('\n', at);
    tagged += "[1,0]<stdout>:" + kRows.substr(at, end - at + 1);
    at = end + 1;
  }
  EXPECT_EQ(config::parse_nccl_log(noise + kHead + noise + tagged + kFoot, "my.log")[0].rows.size(), 2u);
}

TEST(NcclLog, AnOldLogIsNamedByItsFile) {
  const std::string old = kHead.substr(kHead.find("# nThread"));
  EXPECT_EQ(config::parse_nccl_log(old + kRows + kFoot, "logs/reduce_scatter_8.txt")[0].op, "reduce_scatter");
  EXPECT_NE(refusal(old + kRows + kFoot).find("which collective this table is of is told nowhere"), std::string::npos);
}

TEST(NcclLog, TestsWithoutACollectiveOfOursAreKnownByName) {
  for (const char* name : {"reduce_perf", "gather_perf", "scatter_perf", "hypercube_perf", "alltoallv_perf"}) {
    const std::string text =
        "# Collective test starting: " + std::string(name) + '\n' + kHead.substr(kHead.find("# nThread"));
    EXPECT_EQ(config::parse_nccl_log(text + kRows + kFoot, "my.log")[0].op, "") << name;
  }
}

TEST(NcclLog, ACutLogKeepsItsWholeRows) {
  const std::string cut = kHead + kRows + "        4096           512     float    none      -1    14.";
  const auto logs = config::parse_nccl_log(cut, "my.log");
  ASSERT_EQ(logs[0].rows.size(), 2u);
  ASSERT_EQ(logs[0].notes.size(), 2u);
  EXPECT_EQ(logs[0].notes[0], "the last row is cut off and left out");
  EXPECT_EQ(logs[0].notes[1], "the end is missing: rows that were printed are used");
}

TEST(NcclLog, WrongResultsAreNotMeasurements) {
  std::string rows = kRows;
  rows.replace(rows.find("       0    11.25"), 8, "       7");
  const auto logs = config::parse_nccl_log(kHead + rows + kFoot, "my.log");
  EXPECT_EQ(logs[0].rows.size(), 1u);
  EXPECT_EQ(logs[0].notes[0], "1024 bytes: results were wrong, the row is left out");
}

TEST(NcclLog, ABrokenRowIsToldByLineAndColumn) {
  std::string rows = kRows;
  rows.replace(rows.find("12.50"), 5, "12,50");
  EXPECT_EQ(refusal(kHead + rows + kFoot),
            "my.log:12:57: error: '12,50' is no time in microseconds\n  mend: mend or delete the line");
  EXPECT_EQ(refusal(kHead + "        1024           128\n" + kRows + kFoot),
            "my.log:12:24: error: the row of 1024 bytes ends here, before its columns do\n"
            "  mend: mend or delete the line");
  EXPECT_EQ(refusal("hello\n"),
            "my.log:1:1: error: holds no table of nccl-tests\n"
            "  mend: give the output of all_reduce_perf or another test");
}

TEST(NcclLog, ReadsTheJsonOfNewVersions) {
  const std::string json = R"({"version": 2, "args": ["./build/all_reduce_perf", "-b", "8"], "nccl_version": 22903,
    "config": {"nthreads": 1, "ngpus": 4, "devices": [{"rank": 0, "hostname": "alpha"}, {"rank": 4, "hostname": "beta"}]},
    "results": [{"size": 1024, "count": 256, "type": "float", "redop": "sum", "root": "    -1",
                 "out_of_place": {"time": 12.5, "alg_bw": 0.08, "bus_bw": 0.14, "nwrong": 0.0},
                 "in_place": {"time": 11.5, "alg_bw": 0.09, "bus_bw": 0.15, "nwrong": null}}]})";
  const config::NcclLog log = config::parse_nccl_log(json, "my.json")[0];
  EXPECT_EQ(log.op, "all_reduce");
  EXPECT_EQ(log.ranks, 8);  // 2 processes of 4 GPUs
  EXPECT_EQ(log.hosts, 2);
  ASSERT_EQ(log.rows.size(), 1u);
  EXPECT_DOUBLE_EQ(log.rows[0].time().si(), 12.5e-6);
}

}  // namespace
