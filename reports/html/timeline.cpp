// SPDX-License-Identifier: Apache-2.0
#include "reports/html/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "reports/html/escape.h"

namespace reports::html {
namespace {

using trace::Span;
using trace::Ticks;
using trace::Trace;

constexpr Ticks kPerNanosecond = 1000;

template <class Values>
std::string array_of(const Values& values) {
  return fmt::format("[{}]", fmt::join(values, ","));
}

/// What spans have in common is told once.
class Operators {
 public:
  explicit Operators(const std::vector<std::int64_t>& bytes_of_work) : bytes_of_work_(bytes_of_work) {}

  int number(const Trace& trace, const Span& span) {
    const Key key{&trace, span.name, span.phase, span.layer, span.chunk, span.work};
    const auto [at, fresh] = numbers_.try_emplace(key, static_cast<int>(names_.size()));
    if (fresh) {
      names_.push_back(script_string(trace.names.at(static_cast<std::size_t>(span.name))));
      phases_.push_back(script_string(trace.phases.at(span.phase)));
      layers_.push_back(span.layer);
      chunks_.push_back(span.chunk);
      const auto work = static_cast<std::size_t>(span.work);
      bytes_.push_back(span.work >= 0 && work < bytes_of_work_.size() ? bytes_of_work_[work] : -1);
    }
    return at->second;
  }

  std::string json() const {
    return fmt::format(R"({{"name":{},"phase":{},"layer":{},"chunk":{},"bytes":{}}})", array_of(names_),
                       array_of(phases_), array_of(layers_), array_of(chunks_), array_of(bytes_));
  }

 private:
  using Key = std::tuple<const Trace*, int, int, int, int, int>;
  const std::vector<std::int64_t>& bytes_of_work_;
  std::map<Key, int> numbers_;
  std::vector<std::string> names_, phases_;
  std::vector<int> layers_, chunks_;
  std::vector<std::int64_t> bytes_;
};

/// Of the first operator; of a trace that stands alone the step's begin.
Ticks begin_of(const Trace& trace, bool alone) {
  Ticks begin = trace.length;
  for (const trace::Track& track : trace.tracks) {
    if (!track.spans.empty()) begin = std::min(begin, track.spans.front().start);
  }
  return alone ? 0 : begin / kPerNanosecond;
}

std::string track_json(const Trace& trace, std::size_t number, Ticks begin, const trace::Track& track,
                       Operators& operators) {
  std::vector<Ticks> gaps, durations, waited;
  std::vector<int> which, microbatches;
  Ticks last = begin;
  for (const Span& span : track.spans) {
    const Ticks start = span.start / kPerNanosecond, end = span.end / kPerNanosecond;
    gaps.push_back(start - last);
    durations.push_back(end - start);
    waited.push_back(std::max<Ticks>(0, start - span.ready / kPerNanosecond));
    which.push_back(operators.number(trace, span));
    microbatches.push_back(span.microbatch);
    last = end;
  }
  return fmt::format(
      R"({{"trace":{},"rank":{},"stage":{},"stream":{},"gap":{},"duration":{},"operator":{},"microbatch":{},"waited":{}}})",
      number, track.rank, track.stage, script_string(track.stream), array_of(gaps), array_of(durations),
      array_of(which), array_of(microbatches), array_of(waited));
}

/// Ranks whose spans are told: from both ends inwards while there is room, at least one.
std::set<int> ranks_told(const std::vector<TitledTrace>& traces, std::size_t most_spans, std::size_t& left_out) {
  std::map<int, std::size_t> spans;
  for (const TitledTrace& one : traces) {
    for (const trace::Track& track : one.trace->tracks) spans[track.rank] += track.spans.size();
  }
  std::vector<std::pair<int, std::size_t>> ranks(spans.begin(), spans.end());
  std::set<int> told;
  std::size_t sum = 0, first = 0, end = ranks.size();
  while (first < end) {
    const auto& [rank, here] = told.size() % 2 == 0 ? ranks[first] : ranks[end - 1];
    if (!told.empty() && sum + here > most_spans) break;
    sum += here;
    if (told.size() % 2 == 0)
      ++first;
    else
      --end;
    told.insert(rank);
  }
  left_out = ranks.size() - told.size();
  return told;
}

}  // namespace

std::string timeline_json(const std::vector<TitledTrace>& traces, const std::vector<std::int64_t>& bytes_of_work,
                          std::size_t most_spans, TimeScale scale) {
  std::size_t left_out = 0;
  const std::set<int> told = ranks_told(traces, most_spans, left_out);
  Operators operators(bytes_of_work);
  std::vector<std::string> names, tracks;
  std::vector<Ticks> lengths;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const Trace& trace = *traces[i].trace;
    names.push_back(script_string(traces[i].name));
    const Ticks begin = begin_of(trace, traces.size() == 1);
    lengths.push_back(trace.length / kPerNanosecond - begin);
    for (const trace::Track& track : trace.tracks) {
      if (!track.spans.empty() && told.contains(track.rank))
        tracks.push_back(track_json(trace, i, begin, track, operators));
    }
  }
  const Ticks length = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  return fmt::format(
      R"({{"length":{},"lengths":{},"own_scale":{},"traces":{},"roles_left_out":{},"operators":{},"tracks":[{}]}})",
      length, array_of(lengths), scale == TimeScale::own, array_of(names), left_out, operators.json(),
      fmt::join(tracks, ",\n"));
}

std::string timeline_section(const std::vector<TitledTrace>& traces, const std::vector<std::int64_t>& bytes_of_work,
                             TimeScale scale) {
  const bool any = std::any_of(traces.begin(), traces.end(), [](const TitledTrace& one) {
    return std::any_of(one.trace->tracks.begin(), one.trace->tracks.end(),
                       [](const auto& track) { return !track.spans.empty(); });
  });
  if (!any) return "";
  return "<figure class=\"timeline\" data-timeline><figcaption><strong>Every operator on its stream.</strong> "
         "One group of rows a stage; hatched: no kernel computes. Drag or use the arrow keys to move, Ctrl and the "
         "wheel or + and − to zoom; point at an operator, or step with N and P, to read it.</figcaption>"
         "<div class=\"timeline-view\"></div><p class=\"timeline-note\"></p>"
         "<script type=\"application/json\">" +
         timeline_json(traces, bytes_of_work, kMostSpans, scale) + "</script></figure>\n";
}

}  // namespace reports::html
