// tests/real/measure/stages_test.cpp -- tests real/measure/stages.h and real/trace/trace_file.h: what ranks recorded
// becomes one Trace. SPDX-License-Identifier: Apache-2.0
#include "real/measure/stages.h"

#include <gtest/gtest.h>

#include "core/base/fault.h"
#include "real/trace/trace_file.h"

namespace {

trace::Trace one_span(int rank, trace::Ticks start, trace::Ticks end) {
  trace::Trace t;
  t.names = {"qkv"};
  t.phases = {"forward"};
  t.channels = {"tp"};
  t.streams = 1;
  t.length = end;
  t.tracks = {{rank,
               rank,
               "compute",
               {{.ready = start, .start = start, .end = end, .microbatch = 3, .layer = 2, .channel = 0}}}};
  return t;
}

TEST(Stages, ARankThatBeganLaterIsMovedByAsMuch) {
  // Rank 1 began 2 ns, 2000 ticks, before rank 0.
  const trace::Trace both = real::joined({{1002, one_span(0, 0, 500)}, {1000, one_span(1, 100, 600)}});
  ASSERT_EQ(both.tracks.size(), 2u);
  EXPECT_EQ(both.tracks[0].spans[0].start, 2000);
  EXPECT_EQ(both.tracks[0].spans[0].end, 2500);
  EXPECT_EQ(both.tracks[1].spans[0].start, 100);
  EXPECT_EQ(both.length, 2500);
}

/// One transfer on the stream "send next" or "recv prev" of a channel.
trace::Trace transfer(int rank, const std::string& stream, trace::Ticks start, trace::Ticks end) {
  trace::Trace t = one_span(rank, start, end);
  t.tracks[0].stream = stream;
  return t;
}

TEST(Stages, AReceiveBeginsWithItsSendAndWaitedUntilThen) {
  // Posted at 0; the other rank sends at 300.
  const trace::Trace both =
      real::joined({{0, transfer(0, "send next", 300, 400)}, {0, transfer(1, "recv prev", 0, 410)}});
  const trace::Span &send = both.tracks[0].spans[0], &receive = both.tracks[1].spans[0];
  EXPECT_EQ(receive.ready, 0);
  EXPECT_EQ(receive.start, 300);
  EXPECT_EQ(receive.end, 410);
  EXPECT_EQ(send.ready, 300);
}

TEST(Stages, AReceiveBehindItsSendDidNotWait) {
  const trace::Trace both =
      real::joined({{0, transfer(0, "send next", 0, 100)}, {0, transfer(1, "recv prev", 50, 120)}});
  EXPECT_EQ(both.tracks[1].spans[0].start, 50);
}

TEST(Stages, WithoutItsSendAReceiveIsAsItWas) {
  const trace::Trace alone = real::joined({{0, transfer(1, "recv prev", 0, 410)}});
  EXPECT_EQ(alone.tracks[0].spans[0].start, 0);
}

TEST(TraceFile, ATraceComesBackAsItWas) {
  const trace::Trace before = one_span(4, 7, 9), after = real::read_trace(real::write_trace(before));
  EXPECT_EQ(after.names, before.names);
  EXPECT_EQ(after.channels, before.channels);
  EXPECT_EQ(after.length, 9);
  EXPECT_EQ(after.streams, 1);
  ASSERT_EQ(after.tracks.size(), 1u);
  EXPECT_EQ(after.tracks[0].rank, 4);
  EXPECT_EQ(after.tracks[0].stream, "compute");
  const trace::Span &a = after.tracks[0].spans[0], &b = before.tracks[0].spans[0];
  EXPECT_EQ(a.start, b.start);
  EXPECT_EQ(a.end, b.end);
  EXPECT_EQ(a.microbatch, 3);
  EXPECT_EQ(a.layer, 2);
  EXPECT_EQ(a.chunk, -1);
  EXPECT_EQ(a.waited_for, -1);
  EXPECT_EQ(a.channel, 0);
}

TEST(TraceFile, OtherTextIsRefused) {
  EXPECT_THROW(real::read_trace("{"), base::DeviceError);
  EXPECT_THROW(real::read_trace("{\"names\": 3}"), base::DeviceError);
}

}  // namespace
