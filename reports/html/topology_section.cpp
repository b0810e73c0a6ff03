// A drawing of nodes and switches with the groups that the ranks form.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "reports/html/charts.h"
#include "reports/html/prediction_sections.h"

namespace reports::html {
namespace {

Json switches(const result::Topology& topology) {
  Json out = Json::array();
  for (const result::JoinedNodes& joined : topology.joined) {
    const std::string over =
        joined.oversubscription == 1 ? "" : fmt::format(", {:g}:1 oversubscribed", joined.oversubscription);
    out.push_back(
        {{"tier", joined.tier}, {"first", joined.first}, {"last", joined.last}, {"label", joined.what + over}});
  }
  return out;
}

}  // namespace

Chart topology_chart(const result::Topology& topology) {
  if (topology.axes.empty() || topology.ranks.empty()) return {};
  Table table{"Groups of each rank", {{"rank", "Rank", true}, {"node", "Node", true}, {"gpu", "GPU", true}}, {}};
  for (const std::string& axis : topology.axes) table.columns.push_back({axis, axis + " group", true});
  for (const result::PlacedRank& placed : topology.ranks) {
    std::vector<Cell> row{count(placed.rank), count(placed.node), count(placed.gpu)};
    for (const int group : placed.groups) row.push_back(count(group));
    table.rows.push_back(std::move(row));
  }
  const std::string shown = topology.nodes_shown < topology.nodes
                                ? fmt::format(" The first {} of {} nodes.", topology.nodes_shown, topology.nodes)
                                : "";
  return {"topology",
          topology.cluster + ".",
          "A row is a node, a square a GPU with its rank; equal colours are one group of the chosen axis, and "
          "pointing at a GPU marks its group." +
              shown,
          table,
          {{"axis", {{"value", topology.axes.front()}, {"options", topology.axes}}}},
          {{"switches", switches(topology)}}};
}

std::string topology_section(const result::Topology& topology) { return figure(topology_chart(topology)); }

}  // namespace reports::html
