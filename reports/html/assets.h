// reports/html/assets.h -- what every page brings along: style, scripts, chart specifications and Vega, embedded when
// the program was built (cmake/Vega.cmake). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace reports::html {

struct Asset {
  std::string_view name;  // "report.css", "waterfall.vg.json"
  std::string_view text;
};

/// In the order of their names, Vega last.
const std::vector<Asset>& assets();

/// Whether Vega was there when the program was built: without it no page can be drawn.
bool has_vega();

}  // namespace reports::html
