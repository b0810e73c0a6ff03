// SPDX-License-Identifier: Apache-2.0
#include "reports/html/drawing.h"

#include <algorithm>
#include <cassert>
#include <string_view>

#include "reports/html/assets.h"
#include "reports/html/escape.h"

namespace reports::html {
namespace {

// A browser's stand-in first, then what the pages load, without what touches a page.
constexpr std::string_view kScripts[] = {"browser.cjs", "vega.js", "1_colours.js", "4_specification.js", "draw.cjs"};

std::string_view text_of(std::string_view name) {
  const auto found =
      std::find_if(assets().begin(), assets().end(), [&](const Asset& asset) { return asset.name == name; });
  assert(found != assets().end());
  return found->text;
}

}  // namespace

Json drawing_request(const Chart& chart, const Look& look, Drawn drawn) {
  Json data = chart.more;
  data["rows"] = rows_of(chart.table);
  return {{"form", drawn == Drawn::svg ? "svg" : "vega"},
          {"width", look.width},
          {"theme", look.dark ? "dark" : "light"},
          {"background", look.background ? "theme" : "none"},
          {"description", chart.title + ' ' + chart.description},
          {"style", text_of("report.css")},
          {"specification", Json::parse(text_of(chart.specification + ".vg.json"))},
          {"content", {{"signals", chart.signals}, {"data", data}}}};
}

std::string drawing_program(const Chart& chart, const Look& look, Drawn drawn) {
  std::string out;
  for (const std::string_view name : kScripts) out.append(text_of(name)) += '\n';
  return out + "drawn(" + script_json(drawing_request(chart, look, drawn)) + ");\n";
}

}  // namespace reports::html
