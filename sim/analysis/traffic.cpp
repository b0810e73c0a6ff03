// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/traffic.h"

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "core/plan/work.h"
#include "sim/network/closed_form.h"

namespace sim {
namespace {

/// What one channel, or all channels of one purpose, carried.
struct Traffic {
  std::int64_t bytes = 0, calls = 0;
  double bus_bytes = 0;
  trace::Ticks time = 0;
  void add(const Traffic& other) {
    bytes += other.bytes;
    calls += other.calls;
    bus_bytes += other.bus_bytes;
    time += other.time;
  }
  void add(const plan::Work& work) {
    if (const auto* collective = std::get_if<plan::Collective>(&work)) {
      bytes += collective->bytes;
      bus_bytes += static_cast<double>(collective->bytes) * bus_factor(collective->kind, collective->group.size);
    } else if (const auto* transfer = std::get_if<plan::Transfer>(&work)) {
      bytes += transfer->bytes;
      bus_bytes += static_cast<double>(transfer->bytes);
    }
  }
};

}  // namespace

std::vector<result::Communication> communication(const plan::Plan& plan, const trace::Trace& trace, std::size_t first) {
  std::vector<Traffic> by_channel(trace.channels.size());
  for (int s = 0; s < trace.streams; ++s) {
    for (const trace::Span& span : trace.tracks[first + s].spans) {
      if (span.channel < 0) continue;
      Traffic& traffic = by_channel[span.channel];
      ++traffic.calls;
      traffic.time += span.end - span.start;
      traffic.add(plan.works[span.work]);
    }
  }
  std::map<std::string, Traffic> by_axis;
  for (std::size_t c = 0; c < by_channel.size(); ++c) {
    if (by_channel[c].calls == 0) continue;
    by_axis[trace.channels[c]].add(by_channel[c]);
  }
  std::vector<result::Communication> out;
  for (const auto& [name, traffic] : by_axis) {
    const double time = trace::seconds(traffic.time);
    out.push_back({name, traffic.bytes, traffic.calls, time, time > 0 ? traffic.bus_bytes / time : 0});
  }
  return out;
}

}  // namespace sim
