// SPDX-License-Identifier: Apache-2.0
#include "reports/perfetto.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/golden.h"
#include "tests/reports/sample.h"

namespace {

using Json = nlohmann::json;

std::string written(const trace::Trace& trace) {
  std::ostringstream out;
  reports::write_perfetto(trace, out);
  return out.str();
}

std::vector<Json> events(const trace::Trace& trace, const std::string& phase) {
  std::vector<Json> out;
  const Json json = Json::parse(written(trace));
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] == phase) out.push_back(event);
  }
  return out;
}

TEST(Perfetto, IsGolden) { testing_support::expect_golden("trace.json", written(sample::trace())); }

TEST(Perfetto, WritesOneCompleteEventForEachSpan) {
  const auto spans = events(sample::trace(), "X");
  ASSERT_EQ(spans.size(), 5u);
  EXPECT_EQ(spans[1]["name"], "b");
  EXPECT_EQ(spans[1]["cat"], "backward");
  EXPECT_EQ(spans[1]["args"]["layer"], 3);
}

TEST(Perfetto, TimesAreMicrosecondsWithEveryPicosecond) {
  // c lasts 2 us and 1 ps.
  EXPECT_NE(written(sample::trace()).find(R"("ts":7.000000,"dur":2.000001,"name":"c")"), std::string::npos);
}

TEST(Perfetto, NamesAreEscaped) { EXPECT_EQ(events(sample::trace(), "X")[2]["name"], "send \"x\""); }

TEST(Perfetto, ArrowsJoinWaitsAndTransfers) {
  // s waits for b, c waits for r, and the transfer goes from s to r.
  const auto starts = events(sample::trace(), "s"), ends = events(sample::trace(), "f");
  ASSERT_EQ(starts.size(), 3u);
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_EQ(starts[0]["ts"], 2.0);  // b
  EXPECT_EQ(ends[0]["ts"], 5.0);    // s
  EXPECT_EQ(starts[2]["name"], "transfer");
  EXPECT_EQ(starts[2]["pid"], 1);
  EXPECT_EQ(ends[2]["pid"], 2);
}

TEST(Perfetto, AnArrowNeverPointsBackInTime) {
  trace::Trace trace = sample::trace();
  trace.tracks[3].spans[0].start = 1'000'000;  // the receive is there at 1 us, the send comes at 5 us
  const auto starts = events(trace, "s"), ends = events(trace, "f");
  ASSERT_EQ(starts.size(), ends.size());
  for (std::size_t i = 0; i < starts.size(); ++i) EXPECT_LE(starts[i]["ts"], ends[i]["ts"]);
}

TEST(Perfetto, AnArrowComesFromWhatHadEndedAndNotFromWhatStillRuns) {
  // At 4 us b (2..5) still runs, so an operator that starts then waited for a (0..2).
  trace::Trace trace = sample::trace();
  trace.tracks[1].spans[0].start = 4'000'000;
  EXPECT_EQ(events(trace, "s")[0]["ts"], 0.0);
}

TEST(Perfetto, SeveralRanksOfOneStageMeetOneByOne) {
  // Unfolded: two ranks a stage share the channel. The second sender must meet the second receiver.
  trace::Trace folded = sample::trace(), trace = folded;
  trace.tracks = {folded.tracks[0], folded.tracks[1], folded.tracks[0], folded.tracks[1],
                  folded.tracks[2], folded.tracks[3], folded.tracks[2], folded.tracks[3]};
  std::vector<std::pair<int, int>> met;
  const auto starts = events(trace, "s"), ends = events(trace, "f");
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (starts[i]["name"] == "transfer") met.emplace_back(starts[i]["pid"], ends[i]["pid"]);
  }
  EXPECT_EQ(met, (std::vector<std::pair<int, int>>{{1, 3}, {2, 4}}));
}

TEST(Perfetto, ThreadsOfDifferentStreamsNeverShareATrack) {
  std::vector<std::pair<int, int>> seen;
  for (const Json& event : events(sample::trace(), "X")) seen.emplace_back(event["pid"], event["tid"]);
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(seen.size(), 4u);  // two streams of two stages
}

TEST(Perfetto, MemoryIsACounterOfEachRole) {
  const auto points = events(sample::trace(), "C");
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[1]["args"]["bytes"], 1500);
  EXPECT_EQ(points[2]["pid"], 2);
}

TEST(Perfetto, MemoryGoesToTheProcessOfItsRank) {
  trace::Trace trace = sample::trace();
  trace.memory.erase(trace.memory.begin());  // only rank 8 is left, whose process is the second
  const auto points = events(trace, "C");
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0]["pid"], 2);
}

TEST(Perfetto, AnEmptyTraceIsStillJson) { EXPECT_TRUE(Json::parse(written({}))["traceEvents"].empty()); }

/// One rank, one stream, one operator of 3 us that begins at `start`.
trace::Trace one_operator(trace::Ticks start) {
  trace::Trace t;
  t.names = {"qkv"};
  t.phases = {"forward"};
  t.streams = 1;
  t.length = start + 3'000'000;
  t.tracks = {{0, 0, "compute", {{.ready = start, .start = start, .end = t.length}}}};
  return t;
}

trace::Recorded recorded(trace::Trace trace) {
  trace::Recorded out;
  out.source = "gpu";
  out.facts = {{"strategy.tp", "2"}};
  out.trace = std::move(trace);
  out.trace.channels = {"dp"};
  out.kinds = {{"all_gather", 8}};
  return out;
}

TEST(Perfetto, ARecordedStepSaysAtItsHeadWhatItIsOf) {
  trace::Recorded step = recorded(one_operator(0));
  step.trace.tracks[0].spans[0].work = step.trace.tracks[0].spans[0].channel = 0;
  std::ostringstream out;
  reports::write_perfetto({{"measured", &step}}, out);
  const Json json = Json::parse(out.str()), head = json["otherData"];
  EXPECT_EQ(head["source"], "gpu");
  EXPECT_EQ(head["job"], (Json{{"strategy.tp", "2"}}));
  const Json args = json["traceEvents"].back()["args"];
  EXPECT_EQ(args, (Json{{"phase", "forward"}, {"family", "all_gather"}, {"ranks", 8}, {"channel", "dp"}}));
}

TEST(Perfetto, PredictionAndMeasurementAreProcessesOfOneTimelineAndBeginTogether) {
  // The prediction's first operator begins at 1 us, the measured one at 0: both are shown at 0.
  const trace::Recorded predicted = recorded(one_operator(1'000'000)), measured = recorded(one_operator(0));
  std::ostringstream out;
  reports::write_perfetto({{"predicted", &predicted}, {"measured", &measured}}, out);
  std::vector<Json> spans;
  std::vector<std::string> processes;
  const Json json = Json::parse(out.str());
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] == "X") spans.push_back(event);
    if (event["name"] == "process_name") processes.push_back(event["args"]["name"]);
  }
  EXPECT_EQ(processes, (std::vector<std::string>{"predicted: stage 0, rank 0", "measured: stage 0, rank 0"}));
  ASSERT_EQ(spans.size(), 2u);
  for (const Json& span : spans) {
    EXPECT_EQ(span["ts"], 0.0);
    EXPECT_EQ(span["dur"], 3.0);
  }
  EXPECT_NE(spans[0]["pid"], spans[1]["pid"]);
}

TEST(Perfetto, ArrowsOfSeveralTracesHaveNumbersOfTheirOwn) {
  const trace::Recorded one = recorded(sample::trace());
  std::ostringstream out;
  reports::write_perfetto({{"predicted", &one}, {"measured", &one}}, out);
  std::vector<int> numbers;
  const Json json = Json::parse(out.str());
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] == "s") numbers.push_back(event["id"]);
  }
  EXPECT_EQ(numbers, (std::vector<int>{1, 2, 3, 4, 5, 6}));
}

}  // namespace
