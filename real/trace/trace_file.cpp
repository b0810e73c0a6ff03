// SPDX-License-Identifier: Apache-2.0
#include "real/trace/trace_file.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "core/base/fault.h"

namespace real {
namespace {

using Json = nlohmann::json;

// A span is an array of these, in this order.
Json json_of(const trace::Span& s) {
  return Json::array(
      {s.ready, s.start, s.end, s.name, s.microbatch, s.work, s.layer, s.chunk, s.phase, s.waited_for, s.channel});
}

trace::Span span_of(const Json& j) {
  trace::Span s;
  std::size_t i = 0;
  const auto next = [&](auto& field) { field = j.at(i++).get<std::remove_reference_t<decltype(field)>>(); };
  next(s.ready), next(s.start), next(s.end), next(s.name), next(s.microbatch), next(s.work);
  next(s.layer), next(s.chunk), next(s.phase), next(s.waited_for), next(s.channel);
  return s;
}

Json json_of(const trace::Trace& t) {
  Json tracks = Json::array();
  for (const trace::Track& track : t.tracks) {
    Json spans = Json::array();
    for (const trace::Span& span : track.spans) spans.push_back(json_of(span));
    tracks.push_back(
        {{"rank", track.rank}, {"stage", track.stage}, {"stream", track.stream}, {"spans", std::move(spans)}});
  }
  return {{"names", t.names},     {"phases", t.phases}, {"channels", t.channels},
          {"streams", t.streams}, {"length", t.length}, {"tracks", std::move(tracks)}};
}

trace::Trace trace_of(const Json& in) {
  trace::Trace out;
  in.at("names").get_to(out.names);
  in.at("phases").get_to(out.phases);
  in.at("channels").get_to(out.channels);
  in.at("streams").get_to(out.streams);
  in.at("length").get_to(out.length);
  for (const Json& track : in.at("tracks")) {
    trace::Track& to = out.tracks.emplace_back();
    track.at("rank").get_to(to.rank);
    track.at("stage").get_to(to.stage);
    track.at("stream").get_to(to.stream);
    for (const Json& span : track.at("spans")) to.spans.push_back(span_of(span));
  }
  return out;
}

constexpr trace::Ticks kLongest = 24ll * 3600 * 1'000'000'000'000;  // a day, so that sums stay within 64 bits

/// A file may have been written, cut or mended by anybody: what is wrong with it; nullptr: nothing.
const char* fault_of(const trace::Recorded& recorded) {
  const trace::Trace& t = recorded.trace;
  const auto within = [](std::int64_t index, const auto& list) {
    return index < static_cast<std::int64_t>(list.size());
  };
  if (t.streams < 1 || t.tracks.size() % static_cast<std::size_t>(t.streams) != 0) return "has no rank's streams whole";
  if (t.length < 0 || t.length > kLongest) return "lasts longer than a day";
  for (const trace::Track& track : t.tracks) {
    trace::Ticks last = 0;
    for (const trace::Span& s : track.spans) {
      if (s.name < 0 || !within(s.name, t.names) || !within(s.phase, t.phases)) return "has an operator without a name";
      if (s.channel < -1 || !within(s.channel, t.channels)) return "has an operator of an unknown channel";
      if (s.work < -1 || !within(s.work, recorded.kinds)) return "has an operator of an unknown kind";
      if (s.ready < 0 || s.start < s.ready || s.end < s.start || s.end > t.length) {
        return "has an operator that ends before it begins, or outside of the step";
      }
      if (s.start < last) return "has operators that overlap on their stream";
      last = s.end;
    }
  }
  return nullptr;
}

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw base::InputError({{"TRACE", what, "record it again: forerun-worker run JOB --trace FILE", {file, 1, 1}}});
}

}  // namespace

std::string write_trace(const trace::Trace& t) { return json_of(t).dump(); }

trace::Trace read_trace(const std::string& text) try {
  return trace_of(Json::parse(text));
} catch (const Json::exception& error) {
  throw base::DeviceError(std::string("the recorded trace cannot be read: ") + error.what());
}

std::string write_recorded(const trace::Recorded& recorded) {
  Json kinds = Json::array();
  for (const trace::WorkKind& kind : recorded.kinds) kinds.push_back(Json::array({kind.family, kind.ranks}));
  const Json rest = {{"source", recorded.source},
                     {"job", recorded.facts},
                     {"notes", recorded.notes},
                     {"kinds", std::move(kinds)},
                     {"trace", json_of(recorded.trace)}};
  return std::string(kRecordedBegins) + rest.dump().substr(1) + '\n';
}

trace::Recorded read_recorded(const std::string& text, const std::string& file) {
  trace::Recorded out;
  try {
    const Json in = Json::parse(text);
    in.at("source").get_to(out.source);
    in.at("job").get_to(out.facts);
    in.at("notes").get_to(out.notes);
    for (const Json& kind : in.at("kinds")) {
      out.kinds.push_back({kind.at(0).get<std::string>(), kind.at(1).get<int>()});
    }
    out.trace = trace_of(in.at("trace"));
  } catch (const Json::exception& error) {
    refuse(file, std::string("is no recorded step that can be read: ") + error.what());
  }
  if (const char* const fault = fault_of(out)) refuse(file, fault);
  return out;
}

}  // namespace real
