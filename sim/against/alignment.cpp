// SPDX-License-Identifier: Apache-2.0
#include "sim/against/alignment.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace sim {
namespace {

using Tag = std::tuple<std::string_view, std::string_view, std::int32_t, std::int16_t, std::int16_t>;

Tag tag_of(const trace::Span& span, const trace::Trace& trace) {
  return {trace.names[span.name], trace.phases[span.phase], span.microbatch, span.chunk, span.layer};
}

std::vector<SpanPlace> by_start(const RankOf& rank) {
  std::vector<SpanPlace> out;
  for (std::size_t t = 0; t < static_cast<std::size_t>(rank.trace->streams); ++t) {
    for (std::size_t i = 0; i < rank.trace->tracks[rank.first + t].spans.size(); ++i) out.push_back({t, i});
  }
  std::stable_sort(out.begin(), out.end(),
                   [&](SpanPlace a, SpanPlace b) { return rank.at(a).start < rank.at(b).start; });
  return out;
}

}  // namespace

std::vector<SpanPair> align(const RankOf& one, const RankOf& other) {
  std::map<Tag, std::vector<std::size_t>> open;  // pairs that still lack `other`, the last to be met first
  std::vector<SpanPair> out;
  for (const SpanPlace place : by_start(one)) {
    open[tag_of(one.at(place), *one.trace)].push_back(out.size());
    out.push_back({place, std::nullopt});
  }
  for (auto& [tag, pairs] : open) std::reverse(pairs.begin(), pairs.end());
  for (const SpanPlace place : by_start(other)) {
    const auto found = open.find(tag_of(other.at(place), *other.trace));
    if (found == open.end() || found->second.empty()) {
      out.push_back({std::nullopt, place});
      continue;
    }
    out[found->second.back()].other = place;
    found->second.pop_back();
  }
  return out;
}

}  // namespace sim
