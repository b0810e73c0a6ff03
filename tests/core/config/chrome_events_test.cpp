// SPDX-License-Identifier: Apache-2.0
#include "core/config/chrome_events.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <sstream>

#include "core/base/fault.h"
#include "tests/cli/run_forerun.h"

namespace {

using config::ChromeEvent;

struct Read {
  std::vector<ChromeEvent> events;
  config::TextEntries head;
};

Read read(const std::string& text) {
  Read out;
  std::istringstream in(text);
  out.head = config::read_chrome_events(in, "t.json", [&](const ChromeEvent& event) { out.events.push_back(event); });
  return out;
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "read without fault";
}

TEST(ChromeEvents, AnEventHasItsMembersAndPlainArguments) {
  const Read r = read(R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":"stream 7","ts":5.5,"dur":2,
      "args":{"stream":7,"dtype":"BFloat16","last":true,"Input Dims":[[1,2],[3]],"more":{"stream":9}}}]})");
  ASSERT_EQ(r.events.size(), 1u);
  const ChromeEvent& event = r.events[0];
  EXPECT_EQ(event.category, "kernel");
  EXPECT_EQ(event.process, "0");
  EXPECT_EQ(event.thread, "stream 7");
  EXPECT_EQ(event.length_ps, 2'000'000);
  EXPECT_EQ(event.args, (config::TextEntries{{"stream", "7"}, {"dtype", "BFloat16"}, {"last", "true"}}));
}

TEST(ChromeEvents, TimesKeepEveryPicosecond) {
  // Microseconds since 1970 with picoseconds have 22 digits; a double has 16.
  const Read r =
      read(R"([{"ts":1712345678901234.000001},{"ts":1712345678901235.000003,"dur":0.000002},{"ts":1712345678901233}])");
  ASSERT_EQ(r.events.size(), 3u);
  EXPECT_EQ(*r.events[1].start_ps - *r.events[0].start_ps, 1'000'002);
  EXPECT_EQ(r.events[1].length_ps, 2);
  EXPECT_EQ(*r.events[2].start_ps - *r.events[0].start_ps, -1'000'001);
}

TEST(ChromeEvents, NanosecondsAndExponentsAreTimesToo) {
  const Read r = read(R"([{"ts":10.125},{"ts":1.5e1,"dur":-0.5}])");
  EXPECT_EQ(*r.events[0].start_ps, 125'000);
  EXPECT_EQ(*r.events[1].start_ps, 5'000'000);
  EXPECT_EQ(r.events[1].length_ps, -500'000);
}

TEST(ChromeEvents, WhatStandsOutsideIsToldByItsPath) {
  const Read r =
      read(R"({"distributedInfo":{"rank":3,"pg_config":[{"ranks":[0,1]}]},"traceEvents":[],"traceName":"x"})");
  EXPECT_EQ(*config::find(r.head, "distributedInfo.rank"), "3");
  EXPECT_EQ(*config::find(r.head, "traceName"), "x");
  EXPECT_EQ(config::find(r.head, "traceEvents"), nullptr);
}

TEST(ChromeEvents, WhatIsBrokenIsNamedWithItsLine) {
  EXPECT_EQ(refusal("{\"traceEvents\": [\n  {\"ph\": \"X\"},\n  {\"ph\": oops}\n]}"),
            "t.json:3:10: error: TRACE: is no JSON from here on\n  mend: give a file that forerun measure --trace or "
            "PyTorch's profiler wrote");
  EXPECT_NE(refusal("{}").find("t.json:1:1: error: traceEvents: is missing"), std::string::npos);
  EXPECT_NE(refusal("").find("is no JSON from here on"), std::string::npos);
  EXPECT_NE(refusal(R"([{"ts":1},{"ts":9e30}])").find("traceEvents[1].ts: '9e30' is no time"), std::string::npos);
  // 1970 beside today: more than a day.
  EXPECT_NE(refusal(R"([{"ts":1712345678901234},{"ts":1}])").find("traceEvents[1].ts: '1' is no time"),
            std::string::npos);
  EXPECT_NE(refusal(R"([{"ts":"soon"}])").find("'soon' is no time"), std::string::npos);
}

std::string packed(const testing_support::ScratchFolder& folder, const std::string& text) {
  const std::string path = folder / "t.json.gz";
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

TEST(ChromeEvents, PackedFilesAreReadAsPlainOnes) {
  const testing_support::ScratchFolder folder;
  int events = 0;
  config::read_chrome_events(packed(folder, R"({"traceEvents":[{"ph":"X"},{"ph":"X"}]})"),
                             [&](const ChromeEvent&) { ++events; });
  EXPECT_EQ(events, 2);
}

TEST(ChromeEvents, AFileThatIsNotThereOrCutOffIsSaid) {
  const testing_support::ScratchFolder folder;
  const auto refusal_of = [](const std::string& path) -> std::string {
    try {
      config::read_chrome_events(path, [](const ChromeEvent&) {});
    } catch (const base::InputError& error) {
      return error.what();
    }
    return "read without fault";
  };
  EXPECT_NE(refusal_of(folder / "none.json").find("TRACE: there is no such file"), std::string::npos);
  EXPECT_NE(refusal_of(folder / ".").find("TRACE: it is a folder"), std::string::npos);
  const std::string path = packed(folder, "{\"traceEvents\":[" + std::string(100'000, ' ') + "]}");
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_NE(refusal_of(path).find("the packed file is broken or ends early"), std::string::npos);
  std::ofstream(folder / "plain.json") << "{\"traceEvents\":[\n\n!]}";
  EXPECT_NE(refusal_of(folder / "plain.json").find("plain.json:3:1: error: TRACE: is no JSON"), std::string::npos);
}

}  // namespace
