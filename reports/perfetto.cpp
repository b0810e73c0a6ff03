// SPDX-License-Identifier: Apache-2.0
#include "reports/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace reports {
namespace {

using trace::Span;
using trace::Ticks;
using trace::Trace;
using trace::Track;

constexpr std::size_t kFlushAt = 1 << 16;  // bytes gathered before the stream is called
constexpr Ticks kPerMicrosecond = 1'000'000;

/// A JSON string with its quotes.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out += '"';
}

/// The file that the traces share.
class File {
 public:
  /// `head`: further members of the file's object, each with a comma behind it.
  explicit File(std::ostream& out, const std::string& head = "") : out_(out) {
    buffer_ = "{\"displayTimeUnit\":\"ns\"," + head + "\"traceEvents\":[";
  }
  void end() {
    buffer_ += "\n]}\n";
    flush();
  }
  template <class... Args>
  void event(fmt::format_string<Args...> form, Args&&... args) {
    buffer_ += first_ ? "\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(buffer_), form, std::forward<Args>(args)...);
    if (buffer_.size() >= kFlushAt) flush();
  }
  int next_arrow() { return ++arrows_; }

 private:
  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }
  std::ostream& out_;
  std::string buffer_;
  bool first_ = true;
  int arrows_ = 0;
};

/// Where a trace among others goes: what its processes' names begin with, their first number, what 0 is in it.
struct Slot {
  std::string prefix = {};
  int first_process = 1;
  Ticks zero = 0;
  const std::vector<trace::WorkKind>* kinds = nullptr;  // by Span::work; then events tell what reading them back needs
};

class Writer {
 public:
  Writer(const Trace& trace, Slot slot, File& file) : trace_(trace), slot_(std::move(slot)), file_(file) {
    for (const std::string& name : trace.names) names_.push_back(quoted(name));
    for (const std::string& phase : trace.phases) phases_.push_back(quoted(phase));
  }

  void write() {
    for (std::size_t i = 0; i < trace_.tracks.size(); ++i) name_track(static_cast<int>(i));
    for (std::size_t i = 0; i < trace_.tracks.size(); ++i) spans(static_cast<int>(i));
    for (std::size_t i = 0; i < trace_.tracks.size(); ++i) waits(static_cast<int>(i));
    transfers();
    memory();
  }

 private:
  int streams() const { return std::max(1, trace_.streams); }
  // Neither is 0 (Perfetto takes that for the idle task) nor are they equal (it would be the process's main thread).
  int process(int track) const { return track / streams() + slot_.first_process; }
  int thread(int track) const { return process(track) * 100 + track % streams(); }

  template <class... Args>
  void event(fmt::format_string<Args...> form, Args&&... args) {
    file_.event(form, std::forward<Args>(args)...);
  }
  static std::string us(Ticks at) { return fmt::format("{}.{:06}", at / kPerMicrosecond, at % kPerMicrosecond); }

  Ticks at(Ticks of_trace) const { return of_trace - slot_.zero; }

  void metadata(const char* what, int track, const std::string& args) {
    event(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{{}}}}})", process(track), thread(track), what, args);
  }

  void name_track(int index) {
    const Track& track = trace_.tracks[index];
    if (index % streams() == 0) {
      metadata("process_name", index,
               fmt::format(R"("name":"{}stage {}, rank {}")", slot_.prefix, track.stage, track.rank));
      metadata("process_sort_index", index, fmt::format(R"("sort_index":{})", process(index)));
    }
    if (track.spans.empty()) return;
    metadata("thread_name", index, fmt::format(R"("name":{})", quoted(track.stream)));
    metadata("thread_sort_index", index, fmt::format(R"("sort_index":{})", index % streams()));
  }

  void spans(int index) {
    for (const Span& span : trace_.tracks[index].spans) {
      std::string args;
      const auto add = [&](const char* key, int value) {
        if (value >= 0) args += fmt::format(R"({}"{}":{})", args.empty() ? "" : ",", key, value);
      };
      add("microbatch", span.microbatch);
      add("chunk", span.chunk);
      add("layer", span.layer);
      const std::string& phase = phases_.at(span.phase);
      args += fmt::format(R"({}"phase":{})", args.empty() ? "" : ",", phase);
      if (span.start > span.ready) args += fmt::format(R"(,"waited_us":{})", us(span.start - span.ready));
      if (slot_.kinds != nullptr) args += origin(span);
      event(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":{},"args":{{{}}}}})", process(index),
            thread(index), us(at(span.start)), us(span.end - span.start), names_.at(span.name), phase, args);
    }
  }

  std::string origin(const Span& span) const {
    std::string out;
    if (span.work >= 0) {
      const trace::WorkKind& kind = slot_.kinds->at(span.work);
      out += fmt::format(R"(,"family":{})", quoted(kind.family));
      if (kind.ranks > 0) out += fmt::format(R"(,"ranks":{})", kind.ranks);
    }
    if (span.channel >= 0) out += fmt::format(R"(,"channel":{})", quoted(trace_.channels.at(span.channel)));
    return out;
  }

  void arrow(const char* kind, int from_track, const Span& from, int to_track, const Span& to) {
    const int number = file_.next_arrow();
    event(R"({{"ph":"s","id":{},"pid":{},"tid":{},"ts":{},"name":"{}","cat":"flow"}})", number, process(from_track),
          thread(from_track), us(at(from.start)), kind);
    // A receive may be on its stream before the send begins; an arrow must not point back in time.
    event(R"({{"ph":"f","bp":"e","id":{},"pid":{},"tid":{},"ts":{},"name":"{}","cat":"flow"}})", number,
          process(to_track), thread(to_track), us(at(std::max(to.start, from.start))), kind);
  }

  void waits(int index) {
    const int first = index - index % streams();
    for (const Span& span : trace_.tracks[index].spans) {
      const int awaited = first + span.waited_for;
      if (span.waited_for < 0 || span.waited_for >= streams() || awaited == index) continue;
      const std::vector<Span>& others = trace_.tracks[awaited].spans;
      const auto after = std::upper_bound(others.begin(), others.end(), span.start,
                                          [](Ticks at, const Span& other) { return at < other.end; });
      if (after != others.begin()) arrow("wait", awaited, *std::prev(after), index, span);
    }
  }

  void transfers() {
    struct End {
      int track;
      std::vector<const Span*> spans;
    };
    std::map<int, std::pair<std::vector<End>, std::vector<End>>> channels;  // sending and receiving tracks of each
    for (std::size_t i = 0; i < trace_.tracks.size(); ++i) {
      const Track& track = trace_.tracks[i];
      const bool sends = track.stream.starts_with("send");
      if (!sends && !track.stream.starts_with("recv")) continue;
      for (const Span& span : track.spans) {
        if (span.channel < 0) continue;
        auto& [senders, receivers] = channels[span.channel];
        std::vector<End>& ends = sends ? senders : receivers;
        if (ends.empty() || ends.back().track != static_cast<int>(i)) ends.push_back({static_cast<int>(i), {}});
        ends.back().spans.push_back(&span);
      }
    }
    for (const auto& [channel, ends] : channels) {
      const auto& [senders, receivers] = ends;
      for (std::size_t k = 0; k < std::min(senders.size(), receivers.size()); ++k) {
        const std::size_t both = std::min(senders[k].spans.size(), receivers[k].spans.size());
        for (std::size_t n = 0; n < both; ++n) {
          // On clocks of their own (a step without a barrier) a receive may have ended before its send begins.
          if (receivers[k].spans[n]->end < senders[k].spans[n]->start) continue;
          arrow("transfer", senders[k].track, *senders[k].spans[n], receivers[k].track, *receivers[k].spans[n]);
        }
      }
    }
  }

  void memory() {
    std::map<int, int> process_of;  // by rank: an unfolded run has memory for one rank of a role only
    for (std::size_t i = 0; i < trace_.tracks.size(); ++i) {
      process_of.emplace(trace_.tracks[i].rank, process(static_cast<int>(i)));
    }
    for (const trace::MemoryTrack& track : trace_.memory) {
      const auto found = process_of.find(track.rank);
      if (found == process_of.end()) continue;
      for (const trace::MemoryPoint& point : track.points) {
        event(R"({{"ph":"C","pid":{},"ts":{},"name":"memory","args":{{"bytes":{}}}}})", found->second,
              us(std::max<Ticks>(0, at(point.at))), point.bytes);
      }
    }
  }

  const Trace& trace_;
  Slot slot_;
  File& file_;
  std::vector<std::string> names_, phases_;  // quoted once
};

/// Its first operator's.
Ticks start_of(const Trace& trace) {
  Ticks start = trace.length;
  for (const Track& track : trace.tracks) {
    if (!track.spans.empty()) start = std::min(start, track.spans.front().start);
  }
  return start;
}

int processes_of(const Trace& trace) {
  const int streams = std::max(1, trace.streams);
  return (static_cast<int>(trace.tracks.size()) + streams - 1) / streams;
}

/// "otherData", where Chrome's format has room for what a trace's author wants to say of it.
std::string head_of(const trace::Recorded& recorded) {
  std::string job, notes;
  for (const auto& [key, value] : recorded.facts) job += (job.empty() ? "" : ",") + quoted(key) + ':' + quoted(value);
  for (const std::string& note : recorded.notes) notes += (notes.empty() ? "" : ",") + quoted(note);
  return fmt::format(R"("otherData":{{"forerun":1,"source":{},"period_ps":{},"job":{{{}}},"notes":[{}]}},)",
                     quoted(recorded.source), recorded.period, job, notes);
}

}  // namespace

void write_perfetto(const Trace& trace, std::ostream& out) {
  File file(out);
  Writer(trace, {}, file).write();
  file.end();
}

void write_perfetto(const std::vector<NamedTrace>& traces, std::ostream& out) {
  File file(out, traces.empty() ? "" : head_of(*traces.back().recorded));
  int process = 1;
  for (const NamedTrace& one : traces) {
    const Trace& trace = one.recorded->trace;
    Writer(trace, {one.name + ": ", process, start_of(trace), &one.recorded->kinds}, file).write();
    process += processes_of(trace);
  }
  file.end();
}

}  // namespace reports
