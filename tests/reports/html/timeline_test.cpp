// SPDX-License-Identifier: Apache-2.0
#include "reports/html/timeline.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/html/gpu_use.h"
#include "tests/reports/sample.h"

namespace {

using Json = nlohmann::json;
using reports::html::gpu_use;
using reports::html::timeline_json;
using reports::html::timeline_section;

Json written(const trace::Trace& trace, std::size_t most = reports::html::kMostSpans) {
  return Json::parse(timeline_json({{"predicted", &trace}}, {}, most));
}

TEST(HtmlTimeline, ASpanIsAGapAndADurationInNanoseconds) {
  // a 0..2 us and b 2..5 us on stage 0's compute; c begins at 7 us on stage 1's, and its last picosecond is cut off.
  const Json tracks = written(sample::trace())["tracks"];
  ASSERT_EQ(tracks.size(), 4u);
  EXPECT_EQ(tracks[0]["gap"], Json({0, 0}));
  EXPECT_EQ(tracks[0]["duration"], Json({2000, 3000}));
  EXPECT_EQ(tracks[2]["gap"], Json({7000}));
  EXPECT_EQ(tracks[2]["duration"], Json({2000}));
  EXPECT_EQ(tracks[2]["stream"], "compute");
  EXPECT_EQ(tracks[2]["stage"], 1);
  EXPECT_EQ(tracks[2]["rank"], 8);
}

TEST(HtmlTimeline, WaitingIsFromReadyToStart) {
  // r is posted at 0 and begins at 5 us.
  EXPECT_EQ(written(sample::trace())["tracks"][3]["waited"], Json({5000}));
}

TEST(HtmlTimeline, WhatSpansHaveInCommonIsToldOnce) {
  trace::Trace trace = sample::trace();
  trace.tracks[0].spans.push_back(trace.tracks[0].spans[0]);  // a again, later, of another microbatch
  trace.tracks[0].spans[2].start = 6'000'000;
  trace.tracks[0].spans[2].end = 7'000'000;
  trace.tracks[0].spans[2].microbatch = 1;
  const Json json = written(trace);
  EXPECT_EQ(json["operators"]["name"], Json({"a", "b", "send \"x\"", "c", "recv"}));  // as they are met
  EXPECT_EQ(json["operators"]["phase"][1], "backward");
  EXPECT_EQ(json["operators"]["layer"][0], 3);
  EXPECT_EQ(json["tracks"][0]["operator"], Json({0, 1, 0}));
  EXPECT_EQ(json["tracks"][0]["microbatch"], Json({0, 0, 1}));
}

TEST(HtmlTimeline, BytesAreThoseOfTheWork) {
  trace::Trace trace = sample::trace();
  trace.tracks[0].spans[0].work = 1;
  trace.tracks[0].spans[1].work = 7;  // of which nothing is told
  const Json json = Json::parse(timeline_json({{"predicted", &trace}}, {10, 4096}));
  EXPECT_EQ(json["operators"]["bytes"][0], 4096);
  EXPECT_EQ(json["operators"]["bytes"][1], -1);
}

TEST(HtmlTimeline, SeveralTracesStandInOne) {
  const trace::Trace predicted = sample::trace(), measured = sample::trace();
  const Json json = Json::parse(timeline_json({{"predicted", &predicted}, {"measured", &measured}}, {}));
  EXPECT_EQ(json["traces"], Json({"predicted", "measured"}));
  ASSERT_EQ(json["tracks"].size(), 8u);
  EXPECT_EQ(json["tracks"][0]["trace"], 0);
  EXPECT_EQ(json["tracks"][4]["trace"], 1);
}

TEST(HtmlTimeline, SeveralTracesBeginWithTheirFirstOperator) {
  // The measured one begins a microsecond later; alone it would keep that. It lasts 9 us (and a picosecond) then.
  const trace::Trace predicted = sample::trace();
  trace::Trace measured = sample::trace();
  for (trace::Track& track : measured.tracks) {
    for (trace::Span& span : track.spans) {
      for (trace::Ticks* time : {&span.ready, &span.start, &span.end}) *time += 1'000'000;
    }
  }
  measured.length += 1'000'000;
  const Json json = Json::parse(timeline_json({{"predicted", &predicted}, {"measured", &measured}}, {}));
  EXPECT_EQ(json["tracks"][4]["gap"], json["tracks"][0]["gap"]);
  EXPECT_EQ(json["lengths"], Json({9000, 9000}));
  EXPECT_EQ(written(measured)["tracks"][0]["gap"], Json({1000, 0}));
}

TEST(HtmlTimeline, TheScaleIsChosenByWhoComparesTimes) {
  const trace::Trace trace = sample::trace();
  EXPECT_EQ(written(trace)["own_scale"], false);
  using reports::html::TimeScale;
  EXPECT_NE(timeline_section({{"a", &trace}, {"b", &trace}}, {}, TimeScale::own).find("\"own_scale\":true"),
            std::string::npos);
}

TEST(HtmlTimeline, RolesThatHaveNoRoomAreCounted) {
  // Rank 0 has three spans and rank 8 two: both have room in 5, and the first always has.
  EXPECT_EQ(written(sample::trace(), 5)["roles_left_out"], 0);
  EXPECT_EQ(written(sample::trace(), 4)["roles_left_out"], 1);
  EXPECT_EQ(written(sample::trace(), 1)["tracks"].size(), 2u);
}

TEST(HtmlTimeline, ATraceWithoutSpansHasNoSection) {
  const trace::Trace nothing;
  EXPECT_EQ(timeline_section({{"predicted", &nothing}}, {}), "");
}

TEST(HtmlGpuUse, EveryTickIsComputingCommunicatingOrIdle) {
  // Stage 0: forward 0..2, backward 2..5, send 5..7 behind nothing, then idle to 9.000001 us.
  // Stage 1: receives 5..7, forward 7..9.000001; idle before.
  const auto use = gpu_use(sample::trace());
  ASSERT_EQ(use.size(), 2u);
  EXPECT_EQ(use[0].ticks.at("forward"), 2'000'000);
  EXPECT_EQ(use[0].ticks.at("backward"), 3'000'000);
  EXPECT_EQ(use[0].ticks.at("communication"), 2'000'000);
  EXPECT_EQ(use[0].ticks.at("idle"), 2'000'001);
  EXPECT_EQ(use[1].ticks.at("forward"), 2'000'001);
  EXPECT_EQ(use[1].ticks.at("communication"), 2'000'000);
  EXPECT_EQ(use[1].ticks.at("idle"), 5'000'000);
}

TEST(HtmlGpuUse, CommunicationBehindAKernelIsNotCountedTwice) {
  trace::Trace trace = sample::trace();
  trace.tracks[1].spans[0].start = 4'000'000;  // sends 4..7 beside b, which computes until 5
  EXPECT_EQ(gpu_use(trace)[0].ticks.at("communication"), 2'000'000);
}

}  // namespace
