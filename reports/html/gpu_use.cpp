// SPDX-License-Identifier: Apache-2.0
#include "reports/html/gpu_use.h"

#include <algorithm>
#include <utility>

#include "reports/html/charts.h"
#include "reports/html/prediction_sections.h"
#include "reports/html/words.h"

namespace reports::html {
namespace {

using trace::Ticks;
using Interval = std::pair<Ticks, Ticks>;

/// Overlapping and touching ones become one. Sorts.
std::vector<Interval> joined(std::vector<Interval> all) {
  std::sort(all.begin(), all.end());
  std::vector<Interval> out;
  for (const Interval& one : all) {
    if (!out.empty() && one.first <= out.back().second) {
      out.back().second = std::max(out.back().second, one.second);
    } else {
      out.push_back(one);
    }
  }
  return out;
}

Ticks total(const std::vector<Interval>& all) {
  Ticks sum = 0;
  for (const Interval& one : all) sum += one.second - one.first;
  return sum;
}

GpuUse use_of(const trace::Trace& trace, std::size_t first, std::size_t end) {
  GpuUse use{trace.tracks[first].rank, trace.tracks[first].stage, {}};
  std::vector<Interval> busy, computing;
  for (std::size_t i = first; i < end; ++i) {
    const trace::Track& track = trace.tracks[i];
    const bool computes = track.stream == "compute";
    for (const trace::Span& span : track.spans) {
      busy.emplace_back(span.start, span.end);
      if (!computes) continue;
      computing.emplace_back(span.start, span.end);
      use.ticks[trace.phases.at(span.phase)] += span.end - span.start;
    }
  }
  const Ticks any = total(joined(std::move(busy)));
  use.ticks["communication"] = any - total(joined(std::move(computing)));
  use.ticks["idle"] = std::max<Ticks>(0, trace.length - any);
  return use;
}

}  // namespace

std::vector<GpuUse> gpu_use(const trace::Trace& trace) {
  std::vector<GpuUse> out;
  const auto streams = static_cast<std::size_t>(std::max(1, trace.streams));
  for (std::size_t first = 0; first < trace.tracks.size(); first += streams) {
    out.push_back(use_of(trace, first, std::min(first + streams, trace.tracks.size())));
  }
  return out;
}

Chart gpu_use_chart(const trace::Trace& trace) {
  if (trace.length <= 0) return {};
  Table table{"Share of the step by what a GPU does",
              {{"label", "Stage"},
               {"place", "place", true, false},
               {"kind", "What it does"},
               {"value", "Share", true},
               {"time", "Time", true}},
              {}};
  std::vector<std::string> kinds{"forward", "recompute", "backward", "optimizer", "communication", "idle"};
  const std::vector<GpuUse> all = gpu_use(trace);
  for (const GpuUse& use : all) {
    for (const std::string& kind : kinds) {
      const auto found = use.ticks.find(kind);
      if (found == use.ticks.end() || found->second == 0) continue;
      table.rows.push_back({text(stage_name(use.stage) + ", rank " + std::to_string(use.rank)), count(use.rank),
                            text(kind), share(static_cast<double>(found->second) / static_cast<double>(trace.length)),
                            quantity(trace::seconds(found->second), "s")});
    }
  }
  return {"stacked",
          "Use of each stage's GPUs.",
          "Kernels by phase; communication that no kernel hides; idle: nothing runs, the pipeline's bubble above all.",
          table,
          {{"x_title", "share of the step"}, {"x_format", "%"}}};
}

std::string gpu_use_section(const trace::Trace& trace) { return figure(gpu_use_chart(trace)); }

}  // namespace reports::html
