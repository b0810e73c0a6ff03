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
  const trace::Trace both = real::joined({{1002, one_span(0, 0, 500)}, {1000, one_span(1, 100, 600)}}).trace;
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
      real::joined({{0, transfer(0, "send next", 300, 400)}, {0, transfer(1, "recv prev", 0, 410)}}).trace;
  const trace::Span &send = both.tracks[0].spans[0], &receive = both.tracks[1].spans[0];
  EXPECT_EQ(receive.ready, 0);
  EXPECT_EQ(receive.start, 300);
  EXPECT_EQ(receive.end, 410);
  EXPECT_EQ(send.ready, 300);
}

TEST(Stages, AReceiveBehindItsSendDidNotWait) {
  const trace::Trace both =
      real::joined({{0, transfer(0, "send next", 0, 100)}, {0, transfer(1, "recv prev", 50, 120)}}).trace;
  EXPECT_EQ(both.tracks[1].spans[0].start, 50);
}

// The clock of rank 1's machine is 5 ns ahead of rank 0's: what it says began at 1007 began at 1002.
TEST(Stages, ARankOfAnotherMachineIsMovedByWhatItsClockIsAhead) {
  const real::JoinedTrace both = real::joined({{1000, one_span(0, 0, 500)}, {1007, one_span(1, 0, 600), -5, 3}});
  EXPECT_EQ(both.trace.tracks[0].spans[0].start, 0);
  EXPECT_EQ(both.trace.tracks[1].spans[0].start, 2000);
  ASSERT_EQ(both.notes.size(), 1u);
  EXPECT_EQ(both.notes[0], "clocks of machines are known to 3.00 ns of rank 0's");
}

// Sent at 9 ns, there at 5: 4 ns too early, of which the clocks explain 3.
TEST(Stages, AReceiveThatEndedBeforeItsSendBeganShowsThatTheClocksAreWrong) {
  const auto with = [](std::int64_t uncertainty) {
    return real::joined(
        {{0, transfer(0, "send next", 9000, 9500)}, {0, transfer(1, "recv prev", 0, 5000), 0, uncertainty}});
  };
  ASSERT_EQ(with(3).notes.size(), 2u);
  EXPECT_EQ(with(3).notes[1],
            "1 receive ended before its send began, by up to 1.00 ns more than the clocks' uncertainty: when ranks of "
            "different machines waited for one another is not known");
  EXPECT_EQ(with(4).notes.size(), 1u);
}

TEST(Stages, WithoutItsSendAReceiveIsAsItWas) {
  const trace::Trace alone = real::joined({{0, transfer(1, "recv prev", 0, 410)}}).trace;
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

trace::Recorded recorded_step() {
  trace::Recorded out{"gpu", {{"strategy.tp", "2"}}, {"clocks agree"}, one_span(4, 7, 9), {{"matmul", 0}}};
  out.trace.tracks[0].spans[0].work = 0;
  return out;
}

TEST(TraceFile, ARecordedStepComesBackWithWhatIsKnownOfIt) {
  const std::string text = real::write_recorded(recorded_step());
  EXPECT_TRUE(text.starts_with(real::kRecordedBegins));
  const trace::Recorded after = real::read_recorded(text, "t.json");
  EXPECT_EQ(after.source, "gpu");
  EXPECT_EQ(after.facts, (trace::Facts{{"strategy.tp", "2"}}));
  EXPECT_EQ(after.notes, std::vector<std::string>{"clocks agree"});
  EXPECT_EQ(after.kinds, (std::vector<trace::WorkKind>{{"matmul", 0}}));
  EXPECT_EQ(after.trace.tracks[0].spans[0].end, 9);
}

TEST(TraceFile, ARecordedStepThatLeadsOutOfItsListsIsRefused) {
  const auto refused = [](auto change) {
    trace::Recorded step = recorded_step();
    change(step, step.trace.tracks[0].spans);
    try {
      real::read_recorded(real::write_recorded(step), "t.json");
    } catch (const base::InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused([](auto&, auto&) {}), "");
  EXPECT_NE(refused([](auto&, auto& spans) {
              spans[0].name = 1;
            }).find("t.json:1:1: error: TRACE: has an operator without a name"),
            std::string::npos);
  EXPECT_NE(refused([](auto&, auto& spans) { spans[0].work = 1; }).find("unknown kind"), std::string::npos);
  EXPECT_NE(refused([](auto&, auto& spans) { spans[0].channel = 1; }).find("unknown channel"), std::string::npos);
  EXPECT_NE(refused([](auto&, auto& spans) { spans[0].start = 10; }).find("before it begins"), std::string::npos);
  EXPECT_NE(refused([](auto&, auto& spans) { spans.push_back(spans[0]); }).find("overlap"), std::string::npos);
  EXPECT_NE(refused([](auto& step, auto&) { step.trace.streams = 0; }).find("streams whole"), std::string::npos);
  EXPECT_THROW(real::read_recorded("{\"forerun_recorded_step\":1,", "t.json"), base::InputError);
}

TEST(TraceFile, OtherTextIsRefused) {
  EXPECT_THROW(real::read_trace("{"), base::DeviceError);
  EXPECT_THROW(real::read_trace("{\"names\": 3}"), base::DeviceError);
}

}  // namespace
