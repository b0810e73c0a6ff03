// Memory of a GPU: what fills it in each stage, and how it comes and goes during the step.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "reports/html/charts.h"
#include "reports/html/page.h"
#include "reports/html/prediction_sections.h"
#include "reports/html/words.h"
#include "reports/quantity.h"

namespace reports::html {
namespace {

using result::Prediction;

constexpr std::size_t kMostPoints = 600;  // of a line: more than a screen has columns for it

/// At most kMostPoints, the highest of its neighbours each, so that the peak stays.
std::vector<trace::MemoryPoint> thinned(const std::vector<trace::MemoryPoint>& points) {
  if (points.size() <= kMostPoints) return points;
  const std::size_t each = (points.size() + kMostPoints - 1) / kMostPoints;
  std::vector<trace::MemoryPoint> out;
  for (std::size_t i = 0; i < points.size(); i += each) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = points.begin() + static_cast<std::ptrdiff_t>(std::min(points.size(), i + each));
    out.push_back(*std::max_element(first, end, [](const auto& a, const auto& b) { return a.bytes < b.bytes; }));
  }
  const trace::MemoryPoint& last = points.back();
  if (out.back().at != last.at || out.back().bytes != last.bytes) out.push_back(last);
  return out;
}

Json lines(const trace::Trace& trace) {
  Json out = Json::array();
  for (const trace::MemoryTrack& track : trace.memory) {
    for (const trace::MemoryPoint& point : thinned(track.points)) {
      out.push_back({{"stage", track.stage},
                     {"label", stage_name(track.stage)},
                     {"time", trace::seconds(point.at)},
                     {"bytes", point.bytes}});
    }
  }
  return out;
}

/// Of the node, where something is offloaded to it.
std::string beside_the_gpu(const Prediction& p) {
  std::vector<std::string> out;
  const auto tell = [&](const char* where, std::int64_t used, std::int64_t there) {
    if (used == 0) return;
    const std::string of = there > 0 ? " of " + human(static_cast<double>(there), "B") : "";
    out.push_back(fmt::format("{}: {}{} on the fullest node", where, human(static_cast<double>(used), "B"), of));
  };
  tell("Host memory", p.host_bytes, p.host_capacity_bytes);
  tell("NVMe drives", p.nvme_bytes, p.nvme_capacity_bytes);
  return list_of(out);
}

}  // namespace

Chart memory_chart(const Prediction& p) {
  Table table{"Memory of one GPU by category, at its stage's peak",
              {{"label", "Stage"}, {"place", "place", true, false}, {"kind", "Category"}, {"value", "Memory", true}},
              {}};
  for (const result::StageMemory& stage : p.stages) {
    for (const auto& [kind, held] : stage.categories) {
      if (held == 0) continue;
      table.rows.push_back({text(stage_name(stage.stage)), count(stage.stage), text(spaced(kind)), bytes(held)});
    }
  }
  return {"stacked",
          "What fills a GPU.",
          "At the moment of each stage's peak; the line is what the GPU has.",
          table,
          {{"x_title", "memory of one GPU"},
           {"x_format", "s"},
           {"x_unit", "B"},
           {"limit", p.capacity_bytes},
           {"limit_text", human(static_cast<double>(p.capacity_bytes), "B")}}};
}

Chart memory_time_chart(const Prediction& p, const trace::Trace& trace) {
  if (trace.memory.empty()) return {};
  Table table{"Peak of each stage",
              {{"label", "Stage"},
               {"stage", "stage", true, false},
               {"bytes", "Peak", true},
               {"time", "At", true},
               {"operator", "Operator"}},
              {}};
  for (const result::StageMemory& stage : p.stages) {
    table.rows.push_back({text(stage_name(stage.stage)), count(stage.stage), bytes(stage.peak_bytes),
                          quantity(stage.peak_time_s, "s"), text(stage.peak_operator)});
  }
  return {"memory_time",
          "Memory during the step.",
          "One line a stage. Its peak is marked with what the allocator and the driver hold besides; the dashed "
          "line is what the GPU has.",
          table,
          {{"limit", p.capacity_bytes}},
          {{"lines", lines(trace)}}};
}

std::string memory_section(const Prediction& p, const trace::Trace* trace) {
  return figure(memory_chart(p)) + (trace ? figure(memory_time_chart(p, *trace)) : "") + beside_the_gpu(p);
}

}  // namespace reports::html
