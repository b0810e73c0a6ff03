// SPDX-License-Identifier: Apache-2.0
#include "reports/html/chart.h"

#include <fmt/format.h>

#include "reports/html/escape.h"

namespace reports::html {

std::string figure(const Chart& chart) {
  if (chart.table.rows.empty()) return "";
  Json data = chart.more;
  data["rows"] = rows_of(chart.table);
  std::string out = fmt::format("<figure class=\"chart\" data-chart=\"{}\">", escaped(chart.specification));
  out += "<figcaption><strong>" + escaped(chart.title) + "</strong> " + escaped(chart.description) + "</figcaption>";
  out += fmt::format("<div class=\"plot\" role=\"img\" aria-label=\"{}: {}\"></div>", escaped(chart.title),
                     escaped(chart.description));
  out += "<script type=\"application/json\">" + script_json({{"signals", chart.signals}, {"data", data}}) + "</script>";
  if (!chart.told_elsewhere) {
    out += "<details><summary>Figures of this chart</summary>" + html_of(chart.table) + "</details>";
  }
  return out + "</figure>\n";
}

}  // namespace reports::html
