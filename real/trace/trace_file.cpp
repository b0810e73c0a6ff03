// SPDX-License-Identifier: Apache-2.0
#include "real/trace/trace_file.h"

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

}  // namespace

std::string write_trace(const trace::Trace& t) {
  Json tracks = Json::array();
  for (const trace::Track& track : t.tracks) {
    Json spans = Json::array();
    for (const trace::Span& span : track.spans) spans.push_back(json_of(span));
    tracks.push_back(
        {{"rank", track.rank}, {"stage", track.stage}, {"stream", track.stream}, {"spans", std::move(spans)}});
  }
  const Json out = {{"names", t.names},     {"phases", t.phases}, {"channels", t.channels},
                    {"streams", t.streams}, {"length", t.length}, {"tracks", std::move(tracks)}};
  return out.dump();
}

trace::Trace read_trace(const std::string& text) try {
  const Json in = Json::parse(text);
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
} catch (const Json::exception& error) {
  throw base::DeviceError(std::string("the recorded trace cannot be read: ") + error.what());
}

}  // namespace real
