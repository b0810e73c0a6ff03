// reports/html/chart.h -- a figure that Vega draws from reports/charts/NAME.vg.json, with its rows as a table below.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reports/html/table.h"

namespace reports::html {

struct Chart {
  std::string specification;  // "waterfall"
  std::string title;
  std::string description;        // what it shows, for those who do not see it
  Table table;                    // its rows are the specification's data "rows"
  Json signals = Json::object();  // of the specification, set to something else: {"x_title": "seconds"}
  Json more = Json::object();     // further data sets by name
  bool told_elsewhere = false;    // the page has the table in full; none below the chart
};

/// <figure>; page/charts.js draws it. Nothing where the table has no rows.
std::string figure(const Chart&);

}  // namespace reports::html
