// tests/real/trace/measured_test.cpp -- records of a run as the Trace that reports read, or why the run is void.
// SPDX-License-Identifier: Apache-2.0
#include "real/trace/measured.h"

#include <gtest/gtest.h>

#include "core/base/fault.h"

namespace {

trace::Trace frame() {
  trace::Trace out;
  out.names = {"matmul", "norm"};
  out.tracks.resize(2);
  return out;
}

/// Two operators on the first track, the second from 250 to 300 ns.
real::Records two(std::uint64_t second_starts = 250) {
  real::Records out;
  out.device = {{.start_ns = 1000, .end_ns = 1200, .correlation = 5, .name = "gemm"},
                {.start_ns = 1000 + second_starts, .end_ns = 1300, .correlation = 6, .name = "rms"}};
  out.owners = {{5, 0}, {6, 1}};
  return out;
}

const std::vector<real::Launched> kBoth{{.instance = 0, .track = 0, .what = {.name = 0, .microbatch = 3}},
                                        {.instance = 1, .track = 0, .what = {.name = 1}}};

std::string why_void(const real::Records& records, const std::vector<real::Launched>& launched) {
  try {
    real::measured(records, launched, frame());
  } catch (const base::DeviceError& error) {
    return error.what();
  }
  return "sound";
}

TEST(Measured, TimeStartsWithTheFirstRecordAndTagsStay) {
  const trace::Trace t = real::measured(two(), kBoth, frame());
  ASSERT_EQ(t.tracks[0].spans.size(), 2u);
  EXPECT_EQ(t.tracks[0].spans[0].start, 0);
  EXPECT_EQ(t.tracks[0].spans[0].end, 200'000);  // 200 ns in picoseconds
  EXPECT_EQ(t.tracks[0].spans[0].microbatch, 3);
  EXPECT_EQ(t.tracks[0].spans[1].start, 250'000);
  EXPECT_EQ(t.length, 300'000);
}

TEST(Measured, SpansOfOneStreamDoNotOverlapThoughKernelsMay) {
  const trace::Trace t = real::measured(two(190), kBoth, frame());  // began 10 ns before its predecessor ended
  EXPECT_EQ(t.tracks[0].spans[1].start, t.tracks[0].spans[0].end);
}

TEST(Measured, ARunWithLostStrayOrMissingRecordsIsVoid) {
  EXPECT_EQ(why_void(two(), kBoth), "sound");
  real::Records dropped = two();
  dropped.dropped = 3;
  EXPECT_EQ(why_void(dropped, kBoth), "the run is void: the GPU's profiler dropped 3 records for want of buffers");
  real::Records stray = two();
  stray.owners.pop_back();
  EXPECT_EQ(why_void(stray, kBoth), "the run is void: no operator launched 1 of 2 records of what the GPU ran: rms");
  std::vector<real::Launched> more = kBoth;
  more.push_back({.instance = 2, .track = 1, .what = {.name = 1}});
  EXPECT_EQ(why_void(two(), more), "the run is void: nothing ran on the GPU for norm");
}

}  // namespace
