// Communication by axis, and what it asks of the links.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "reports/html/charts.h"
#include "reports/html/prediction_sections.h"

namespace reports::html {

Chart communication_chart(const result::Prediction& p) {
  Table table{"Communication of one rank in a step",
              {{"label", "Axis"},
               {"kind", "kind", false, false},
               {"calls", "Calls", true},
               {"bytes", "Payload", true},
               {"value", "Time", true},
               {"rate", "Bus bandwidth", true}},
              {}};
  std::vector<result::Communication> axes = p.communication;
  std::stable_sort(axes.begin(), axes.end(), [](const auto& a, const auto& b) { return a.time_s > b.time_s; });
  for (const result::Communication& c : axes) {
    if (c.calls == 0) continue;
    table.rows.push_back({text(c.axis), text(c.axis), count(c.calls), bytes(c.bytes), quantity(c.time_s, "s"),
                          quantity(c.bus_bandwidth, "B/s")});
  }
  return {"bars",
          "Time of communication by axis.",
          "Of one rank, hidden behind kernels or not. Bus bandwidth is counted as nccl-tests does.",
          table,
          {{"x_title", "time in a step"}, {"x_format", "~s"}, {"x_unit", "s"}}};
}

Chart link_chart(const result::Topology& topology) {
  Table table{"Load of the links",
              {{"label", "Link"},
               {"kind", "Axis"},
               {"bytes", "Bytes over the busiest", true},
               {"capacity", "Capacity", true},
               {"value", "Busy", true}},
              {}};
  for (const result::LinkLoad& link : topology.links) {
    table.rows.push_back({text(link.link), text(link.axis), quantity(link.bytes, "B"), quantity(link.capacity, "B/s"),
                          share(link.busy)});
  }
  return {"stacked",
          "Load of the links.",
          "Share of the step for which the busiest link of each kind would be busy at its full rate, by axis. "
          "Collectives are counted as rings; switches that add up or multicast carry less.",
          table,
          {{"x_title", "share of the step"}, {"x_format", "%"}}};
}

std::string communication_section(const result::Prediction& p, const result::Topology* topology) {
  return figure(communication_chart(p)) + (topology ? figure(link_chart(*topology)) : "");
}

}  // namespace reports::html
