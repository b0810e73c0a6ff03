// tests/core/config/recorded_trace_test.cpp -- what reports/perfetto.h writes comes back as it was.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/recorded_trace.h"

#include <gtest/gtest.h>

#include <sstream>

#include "core/base/fault.h"
#include "reports/perfetto.h"
#include "tests/reports/sample.h"

namespace {

using config::RecordedFile;

trace::Recorded sample_step() {
  trace::Recorded out;
  out.source = "gpu";
  out.facts = {{"strategy.tp", "2"}, {"model", "tiny"}};
  out.notes = {"a note"};
  out.trace = sample::trace();
  out.trace.channels = {"pp"};
  out.kinds = {{"matmul", 0}, {"send_recv", 0}, {"all_gather", 8}};
  for (trace::Track& track : out.trace.tracks) {
    for (trace::Span& span : track.spans) span.work = span.channel < 0 ? 0 : 1;
  }
  out.trace.tracks[0].spans[1].work = 2;
  out.period = 12'000'000;
  return out;
}

std::string written(const trace::Recorded& predicted, const trace::Recorded& measured) {
  std::ostringstream out;
  reports::write_perfetto({{"predicted", &predicted}, {"measured", &measured}}, out);
  return out.str();
}

RecordedFile read(const std::string& text) {
  std::istringstream in(text);
  return config::read_recorded(in, "t.json");
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "read without fault";
}

/// What of a span does not depend on how words are numbered.
std::string told(const trace::Recorded& r, const trace::Span& s) {
  std::ostringstream out;
  out << r.trace.names[s.name] << ' ' << r.trace.phases[s.phase] << ' ' << s.ready << ' ' << s.start << ' ' << s.end
      << ' ' << s.microbatch << ' ' << s.chunk << ' ' << s.layer << ' '
      << (s.channel < 0 ? "" : r.trace.channels[s.channel]) << ' ' << (s.work < 0 ? "" : r.kinds[s.work].family) << ' '
      << (s.work < 0 ? 0 : r.kinds[s.work].ranks);
  return out.str();
}

TEST(RecordedTrace, ComesBackWithEveryTagAndPicosecond) {
  const trace::Recorded before = sample_step();
  const RecordedFile file = read(written(before, before));
  ASSERT_TRUE(file.predicted);
  for (const trace::Recorded* after : {&file.measured, &*file.predicted}) {
    EXPECT_EQ(after->facts, before.facts);
    EXPECT_EQ(after->trace.length, before.trace.length);
    ASSERT_EQ(after->trace.streams, 3);  // of all ranks: compute, send next, recv prev
    std::vector<std::string> expected, found;
    for (const trace::Track& track : before.trace.tracks) {
      for (const trace::Span& span : track.spans) {
        expected.push_back(std::to_string(track.rank) + track.stream + ' ' + told(before, span));
      }
    }
    for (const trace::Track& track : after->trace.tracks) {
      for (const trace::Span& span : track.spans) {
        found.push_back(std::to_string(track.rank) + track.stream + ' ' + told(*after, span));
      }
    }
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected);
  }
  EXPECT_EQ(file.measured.source, "gpu");
  EXPECT_EQ(file.measured.notes, before.notes);
  EXPECT_EQ(file.measured.period, before.period);
  EXPECT_EQ(file.predicted->source, "simulator");
}

TEST(RecordedTrace, TracksOfARankLieTogether) {
  const trace::Trace trace = read(written(sample_step(), sample_step())).measured.trace;
  ASSERT_EQ(trace.tracks.size(), 6u);
  for (std::size_t i = 0; i < trace.tracks.size(); ++i) EXPECT_EQ(trace.tracks[i].stage, i < 3 ? 0 : 1);
  EXPECT_EQ(trace.tracks[4].stream, trace.tracks[1].stream);
}

TEST(RecordedTrace, AFileOfAnImportHasNoPrediction) {
  const trace::Recorded step = sample_step();
  std::ostringstream out;
  reports::write_perfetto({{"measured", &step}}, out);
  EXPECT_FALSE(read(out.str()).predicted);
}

TEST(RecordedTrace, OtherTimelinesAreRefusedWithTheirMend) {
  std::ostringstream predicted;
  reports::write_perfetto(sample::trace(), predicted);
  EXPECT_EQ(
      refusal(predicted.str()),
      "t.json:1:1: error: otherData: is missing: no recorded step of forerun's\n  mend: record one: forerun measure "
      "JOB --trace FILE; of PyTorch's profiler: forerun import kineto FILE -o RECORDED");
  EXPECT_NE(refusal(R"({"otherData":{"forerun":2,"source":"gpu"},"traceEvents":[]})").find("'2' is of a newer forerun"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"otherData":{"forerun":1,"source":"gpu"},"traceEvents":[]})").find("has no measured operator"),
            std::string::npos);
}

/// The sample with `from` written as `to`.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = written(sample_step(), sample_step());
  const std::size_t at = text.rfind(from);
  if (at == text.npos) return "no " + from;
  return text.replace(at, from.size(), to);
}

TEST(RecordedTrace, WhatIsNoTagIsNamed) {
  EXPECT_NE(refusal(changed("\"layer\":4", "\"layer\":\"four\"")).find("args.layer: 'four' is no number of one"),
            std::string::npos);
  EXPECT_NE(refusal(changed("\"dur\":2.000001", "\"dur\":-1")).find(".dur: is missing or negative"), std::string::npos);
  EXPECT_NE(
      refusal(changed("measured: stage 1, rank 8", "measured: stage one, rank 8")).find("names no stage and rank"),
      std::string::npos);
  EXPECT_NE(refusal(changed("\"waited_us\":5", "\"waited_us\":-5")).find("args.waited_us: '-5"), std::string::npos);
}

TEST(RecordedTrace, OperatorsOfOneStreamDoNotOverlap) {
  // b begins at 2 us, where a ends; written as beginning at 1 us it overlaps.
  EXPECT_NE(refusal(changed("\"ts\":2.000000,\"dur\":3.000000,\"name\":\"b\"",
                            "\"ts\":1.000000,\"dur\":3.000000,\"name\":\"b\""))
                .find("'b' begins on stream 'compute' before 'a' has ended"),
            std::string::npos);
}

}  // namespace
