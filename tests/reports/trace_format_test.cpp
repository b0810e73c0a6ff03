// tests/reports/trace_format_test.cpp -- the timeline of whole steps against the Chrome trace event format, as the
// "Trace Event Format" document has it: required fields, nesting, counters in time order, arrows that pair.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "reports/perfetto.h"
#include "sim/predict.h"
#include "tests/support/toy.h"

namespace {

using Json = nlohmann::json;
using TrackId = std::pair<int, int>;  // pid, tid

struct NamedJob {
  const char* name;
  spec::Job job;
};

std::vector<NamedJob> jobs() {
  using S = spec::Schedule;
  std::vector<NamedJob> out;
  out.push_back({"one GPU", toy::job()});
  out.push_back({"tensor parallel", toy::job({.tp = 2, .sp = true, .dp = 2, .zero = 1, .microbatches = 2})});
  out.push_back({"fully sharded", toy::job({.dp = 4, .zero = 3})});
  out.push_back({"1f1b", toy::job({.pp = 4, .microbatches = 6})});
  out.push_back({"interleaved", toy::job({.pp = 2, .vpp = 2, .microbatches = 4})});
  out.push_back({"zb-h1", toy::job({.pp = 4, .microbatches = 8, .schedule = S::zb_h1})});
  out.push_back({"dualpipe", toy::job({.pp = 2, .microbatches = 8, .schedule = S::dualpipe})});
  out.push_back({"every rank", toy::job({.tp = 2, .pp = 2, .dp = 2, .microbatches = 2},
                                        [](spec::Job& j) { j.simulation.unfold = true; })});
  return out;
}

Json timeline_of(const spec::Job& job) {
  std::ostringstream out;
  reports::write_perfetto(sim::predict(job).trace, out);
  return Json::parse(out.str());
}

TrackId track_of(const Json& event) { return {event.at("pid").get<int>(), event.at("tid").get<int>()}; }

/// Simulated and written once.
const std::vector<std::pair<std::string, Json>>& timelines() {
  static const std::vector<std::pair<std::string, Json>> all = [] {
    std::vector<std::pair<std::string, Json>> out;
    for (const NamedJob& one : jobs()) out.emplace_back(one.name, timeline_of(one.job));
    return out;
  }();
  return all;
}

/// Calls the check on the timeline of every job.
template <class Check>
void on_every_job(Check check) {
  for (const auto& [name, timeline] : timelines()) {
    SCOPED_TRACE(name);
    ASSERT_GT(timeline.at("traceEvents").size(), 10u);
    check(timeline.at("traceEvents"));
  }
}

TEST(TraceFormat, EveryEventHasWhatItsPhaseRequires) {
  const std::map<std::string, std::vector<const char*>> required{
      {"X", {"pid", "tid", "ts", "dur", "name"}},        // complete
      {"C", {"pid", "ts", "name", "args"}},              // counter
      {"s", {"pid", "tid", "ts", "id", "name", "cat"}},  // flow begins
      {"f", {"pid", "tid", "ts", "id", "name", "cat"}},  // flow ends
      {"M", {"pid", "name", "args"}}};                   // metadata
  on_every_job([&](const Json& events) {
    for (const Json& event : events) {
      const auto fields = required.find(event.at("ph").get<std::string>());
      ASSERT_NE(fields, required.end()) << event;
      for (const char* field : fields->second) EXPECT_TRUE(event.contains(field)) << field << " of " << event;
      for (const char* number : {"pid", "tid", "id"}) {
        EXPECT_TRUE(!event.contains(number) || event[number].is_number_integer()) << event;
      }
      for (const char* time : {"ts", "dur"}) {
        EXPECT_GE(event.value(time, 0.0), 0) << event;
      }
    }
  });
}

TEST(TraceFormat, ProcessesAndThreadsWithEventsAreNamedOnce) {
  on_every_job([](const Json& events) {
    std::multiset<int> processes;
    std::multiset<TrackId> threads;
    for (const Json& event : events) {
      if (event["name"] == "process_name") processes.insert(event["pid"].get<int>());
      if (event["name"] == "thread_name") threads.insert(track_of(event));
    }
    for (const Json& event : events) {
      if (event["ph"] == "M") continue;
      EXPECT_EQ(processes.count(event["pid"].get<int>()), 1u) << event;
      EXPECT_TRUE(!event.contains("tid") || threads.count(track_of(event)) == 1) << event;
    }
  });
}

TEST(TraceFormat, CompleteEventsOfAThreadFollowOneAnother) {
  on_every_job([](const Json& events) {
    std::map<TrackId, double> end;
    for (const Json& event : events) {
      if (event["ph"] != "X") continue;
      double& last = end.try_emplace(track_of(event), 0).first->second;
      // Instants are told to the picosecond, a millionth of the unit; their sum in double is off by less.
      EXPECT_GE(event["ts"].get<double>(), last - 5e-7) << event;
      last = event["ts"].get<double>() + event["dur"].get<double>();
    }
    EXPECT_FALSE(end.empty());
  });
}

TEST(TraceFormat, CountersGoForwardInTimeAndAreNeverNegative) {
  on_every_job([](const Json& events) {
    std::map<std::pair<int, std::string>, double> latest;
    for (const Json& event : events) {
      if (event["ph"] != "C") continue;
      const double at = event["ts"].get<double>();
      const auto [last, fresh] = latest.try_emplace({event["pid"].get<int>(), event["name"].get<std::string>()}, at);
      EXPECT_TRUE(fresh || at >= last->second) << event;
      last->second = at;
      ASSERT_FALSE(event["args"].empty());
      for (const auto& [series, value] : event["args"].items()) EXPECT_GE(value.get<double>(), 0) << event;
    }
    EXPECT_FALSE(latest.empty());
  });
}

TEST(TraceFormat, EveryArrowHasOneBeginAndOneLaterEnd) {
  on_every_job([](const Json& events) {
    std::map<int, std::vector<const Json*>> begins, ends;
    for (const Json& event : events) {
      if (event["ph"] == "s") begins[event["id"].get<int>()].push_back(&event);
      if (event["ph"] == "f") ends[event["id"].get<int>()].push_back(&event);
    }
    EXPECT_EQ(begins.size(), ends.size());
    for (const auto& [id, begin] : begins) {
      ASSERT_EQ(begin.size(), 1u) << id;
      ASSERT_EQ(ends[id].size(), 1u) << id;
      const Json &from = *begin.front(), &to = *ends[id].front();
      EXPECT_EQ(from["name"], to["name"]);
      EXPECT_EQ(from["cat"], to["cat"]);
      EXPECT_LE(from["ts"], to["ts"]);
    }
  });
}

TEST(TraceFormat, AnArrowIsBoundToACompleteEventAtEitherEnd) {
  // The format binds a flow event to the slice of its thread that encloses its instant.
  on_every_job([](const Json& events) {
    std::map<TrackId, std::vector<std::pair<double, double>>> slices;
    for (const Json& event : events) {
      if (event["ph"] != "X") continue;
      const double from = event["ts"].get<double>();
      slices[track_of(event)].emplace_back(from, from + event["dur"].get<double>());
    }
    for (const Json& event : events) {
      if (event["ph"] != "s" && event["ph"] != "f") continue;
      const double at = event["ts"].get<double>();
      const auto& of_thread = slices[track_of(event)];
      const bool bound = std::any_of(of_thread.begin(), of_thread.end(), [&](const auto& slice) {
        return slice.first - 5e-7 <= at && at <= slice.second + 5e-7;
      });
      EXPECT_TRUE(bound) << event;
    }
  });
}

}  // namespace
