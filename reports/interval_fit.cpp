// SPDX-License-Identifier: Apache-2.0
#include "reports/interval_fit.h"

#include <fmt/format.h>

#include "reports/layout.h"
#include "reports/table.h"

namespace reports {

std::string interval_fit_text(const result::IntervalFit& fit, const Style& style) {
  using enum Column::Kind;
  Table spreads(0, {{"Spread of log(measured / predicted)", text, 44},
                    {"sources", number, 8},
                    {"rows", number, 8},
                    {"faster", number, 9},
                    {"slower", number, 9}});
  for (const result::FittedSpread& s : fit.spreads) {
    spreads.add({s.cause, std::to_string(s.sources), std::to_string(s.rows), fmt::format("{:.3f}", s.faster),
                 fmt::format("{:.3f}", s.slower)});
  }
  Table files(0, {{"In the 80 % interval, fitted", text, 44},
                  {"rows", number, 8},
                  {"with it", number, 12},
                  {"without it", number, 12}});
  for (const result::FittedFile& f : fit.files) {
    files.add({f.file, std::to_string(f.rows), percent(f.with), percent(f.without)});
  }
  files.add({"mean of files of at least 5 rows", "", fit.with ? percent(*fit.with) : "-",
             fit.without ? percent(*fit.without) : "-"});
  return spreads.text(style) + '\n' + files.text(style);
}

}  // namespace reports
