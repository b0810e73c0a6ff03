// reports/html/drawing.h -- a chart by itself, for papers and slides: the program that has Vega draw it in Node.js,
// from the specification, rows and scripts that the pages use. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reports/html/chart.h"

namespace reports::html {

struct Look {
  int width = 640;  // CSS pixels; the height follows from the chart's rows
  bool dark = false;
  bool background = true;  // of the theme; else none, for slides that have their own
};

enum class Drawn { svg, vega };  // vega: the specification with all that it shows, for programs that know Vega

/// What the program is told: specification, content (data sets and signals), description, style, and how it shall look.
/// REQUIRES: the chart's specification is an asset.
Json drawing_request(const Chart&, const Look&, Drawn);

/// JavaScript for `node -`, which then writes the drawing on stdout, or on stderr why it cannot. It asks no other
/// machine or file for anything. REQUIRES: has_vega(), and that of drawing_request().
std::string drawing_program(const Chart&, const Look&, Drawn);

}  // namespace reports::html
