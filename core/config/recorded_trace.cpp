// SPDX-License-Identifier: Apache-2.0
#include "core/config/recorded_trace.h"

#include <algorithm>
#include <limits>
#include <map>

#include "core/base/fault.h"
#include "core/base/number.h"
#include "core/base/text.h"
#include "core/config/chrome_events.h"
#include "core/config/numbered.h"

namespace config {
namespace {

using trace::Recorded;
using trace::Span;
using trace::Ticks;

constexpr const char* kMendTrace = "record it again: forerun measure JOB --trace FILE";

constexpr Ticks kLongest = 24ll * 3600 * 1'000'000'000'000;  // a day, so that sums stay within 64 bits

/// One of the file's two traces while it is read.
struct Side {
  Recorded recorded;
  Numbered<std::string> names, phases, channels, streams;
  Numbered<trace::WorkKind> kinds;
  std::map<std::pair<int, int>, std::map<std::size_t, std::vector<Span>>> spans;  // by stage and rank, by stream
};

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  void take(const ChromeEvent& event) {
    if (event.phase == "M" && event.name == "process_name") name_process(event);
    if (event.phase == "M" && event.name == "thread_name") name_thread(event);
    if (event.phase == "X") take_span(event);
  }

  RecordedFile result(const TextEntries& head) {
    const std::string* version = find(head, "otherData.forerun");
    const std::string* source = find(head, "otherData.source");
    if (version == nullptr || source == nullptr) {
      refuse("otherData", "is missing: no recorded step of forerun's",
             "record one: forerun measure JOB --trace FILE; of PyTorch's profiler: forerun import kineto FILE -o "
             "RECORDED");
    }
    if (*version != "1") refuse("otherData.forerun", base::quoted(*version) + " is of a newer forerun", "use that one");
    measured_.recorded.source = *source;
    for (const auto& [path, value] : head) {
      const std::string_view job = "otherData.job.";
      if (path.starts_with(job)) measured_.recorded.facts.emplace_back(path.substr(job.size()), value);
      if (path == "otherData.notes") measured_.recorded.notes.push_back(value);
    }
    if (const std::string* period = find(head, "otherData.period_ps")) {
      const auto ticks = base::number_in<Ticks>(*period);
      if (!ticks || *ticks < 0 || *ticks > kLongest)
        refuse("otherData.period_ps", base::quoted(*period) + " is no time", kMendTrace);
      measured_.recorded.period = *ticks;
    }
    if (measured_.spans.empty()) refuse("traceEvents", "has no measured operator", kMendTrace);
    RecordedFile out;
    if (!predicted_.spans.empty()) {
      predicted_.recorded.source = "simulator";
      predicted_.recorded.facts = measured_.recorded.facts;
      out.predicted = whole(predicted_);
    }
    out.measured = whole(measured_);
    return out;
  }

 private:
  struct Process {
    Side* side = nullptr;
    std::pair<int, int> rank;  // stage, rank
  };

  [[noreturn]] void refuse(const std::string& field, const std::string& what, const std::string& mend) const {
    throw base::InputError({{field, what, mend, {file_, 1, 1}}});
  }
  [[noreturn]] void refuse(const ChromeEvent& event, const std::string& key, const std::string& what) const {
    refuse("traceEvents[" + std::to_string(event.number) + "]." + key, what, kMendTrace);
  }

  /// "measured: stage 0, rank 3"
  void name_process(const ChromeEvent& event) {
    const std::string* name = find(event.args, "name");
    if (name == nullptr) return;
    const std::size_t colon = name->find(": stage "), comma = name->find(", rank ");
    if (colon == name->npos || comma == name->npos) return;
    const std::string_view text = *name, side = text.substr(0, colon);
    const auto stage = base::number_in<int>(text.substr(colon + 8, comma - colon - 8));
    const auto rank = base::number_in<int>(text.substr(comma + 7));
    if (!stage || !rank || (side != "measured" && side != "predicted")) {
      refuse(event, "args.name", base::quoted(*name) + " names no stage and rank");
    }
    processes_[event.process] = {side == "measured" ? &measured_ : &predicted_, {*stage, *rank}};
  }

  void name_thread(const ChromeEvent& event) {
    if (const std::string* name = find(event.args, "name")) threads_[event.process + '/' + event.thread] = *name;
  }

  template <class Number>
  Number tag(const ChromeEvent& event, const char* key) const {
    const std::string* text = find(event.args, key);
    if (text == nullptr) return -1;
    if (const auto value = base::number_in<Number>(*text)) return *value;
    refuse(event, std::string("args.") + key, base::quoted(*text) + " is no number of one");
  }

  void take_span(const ChromeEvent& event) {
    const auto process = processes_.find(event.process);
    if (process == processes_.end()) return;  // not forerun's: the head says what the file is
    const auto thread = threads_.find(event.process + '/' + event.thread);
    if (thread == threads_.end()) refuse(event, "tid", base::quoted(event.thread) + " is no stream that was named");
    if (!event.start_ps) refuse(event, "ts", "is missing");
    if (!event.length_ps || *event.length_ps < 0) refuse(event, "dur", "is missing or negative");
    Side& side = *process->second.side;
    Span span;
    span.start = span.ready = *event.start_ps;
    span.end = span.start + *event.length_ps;
    span.name = static_cast<std::int32_t>(side.names.number(event.name));
    span.microbatch = tag<std::int32_t>(event, "microbatch");
    span.chunk = tag<std::int16_t>(event, "chunk");
    span.layer = tag<std::int16_t>(event, "layer");
    set_words(event, side, span);
    if (const std::string* waited = find(event.args, "waited_us")) span.ready -= picoseconds(event, *waited);
    side.spans[process->second.rank][side.streams.number(thread->second)].push_back(span);
  }

  void set_words(const ChromeEvent& event, Side& side, Span& span) const {
    const std::string* phase = find(event.args, "phase");
    const std::size_t number = side.phases.number(phase ? *phase : event.category);
    if (number > std::numeric_limits<std::uint8_t>::max()) refuse(event, "args.phase", "is one phase too many");
    span.phase = static_cast<std::uint8_t>(number);
    if (const std::string* family = find(event.args, "family")) {
      span.work = static_cast<std::int32_t>(side.kinds.number({*family, std::max(0, tag<int>(event, "ranks"))}));
    }
    if (const std::string* channel = find(event.args, "channel")) {
      const std::size_t axis = side.channels.number(*channel);
      if (axis > 1000) refuse(event, "args.channel", "is one channel too many");
      span.channel = static_cast<std::int16_t>(axis);
    }
  }

  /// "12.000345" microseconds, as reports/perfetto.cpp writes them.
  Ticks picoseconds(const ChromeEvent& event, std::string_view text) const {
    const std::size_t point = std::min(text.find('.'), text.size());
    std::string digits(text.substr(std::min(point + 1, text.size())));
    digits.resize(6, '0');
    const auto us = base::number_in<std::int64_t>(text.substr(0, point)), ps = base::number_in<std::int64_t>(digits);
    if (!us || !ps || *us < 0 || *us > kLongest / 1'000'000)
      refuse(event, "args.waited_us", base::quoted(text) + " is no time");
    return *us * 1'000'000 + *ps;
  }

  Recorded whole(Side& side) const {
    trace::Trace& trace = side.recorded.trace;
    trace.names = side.names.all();
    trace.phases = side.phases.all();
    trace.channels = side.channels.all();
    side.recorded.kinds = side.kinds.all();
    trace.streams = static_cast<int>(side.streams.all().size());
    for (auto& [place, streams] : side.spans) {
      for (std::size_t s = 0; s < side.streams.all().size(); ++s) {
        std::vector<Span>& spans = streams[s];
        std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
        refuse_overlap(trace, side.streams.all()[s], spans);
        if (!spans.empty()) trace.length = std::max(trace.length, spans.back().end);
        trace.tracks.push_back({place.second, place.first, side.streams.all()[s], std::move(spans)});
      }
    }
    return std::move(side.recorded);
  }

  void refuse_overlap(const trace::Trace& trace, const std::string& stream, std::vector<Span>& spans) const {
    for (std::size_t i = 1; i < spans.size(); ++i) {
      if (spans[i].start < spans[i - 1].end) {
        refuse("traceEvents",
               base::quoted(trace.names[spans[i].name]) + " begins on stream " + base::quoted(stream) + " before " +
                   base::quoted(trace.names[spans[i - 1].name]) + " has ended",
               kMendTrace);
      }
      spans[i].ready = std::max(spans[i].ready, spans[i - 1].end);
    }
  }

  const std::string& file_;
  Side measured_, predicted_;
  std::map<std::string, Process> processes_;
  std::map<std::string, std::string> threads_;  // "process/thread": stream
};

}  // namespace

RecordedFile read_recorded(std::istream& in, const std::string& name) {
  Reader reader(name);
  const TextEntries head = read_chrome_events(in, name, [&](const ChromeEvent& event) { reader.take(event); });
  return reader.result(head);
}

RecordedFile read_recorded(const std::string& path) {
  Reader reader(path);
  const TextEntries head = read_chrome_events(path, [&](const ChromeEvent& event) { reader.take(event); });
  return reader.result(head);
}

}  // namespace config
