// SPDX-License-Identifier: Apache-2.0
#include "reports/interval_fit.h"

#include <fmt/format.h>

#include "reports/layout.h"

namespace reports {

std::string interval_fit_text(const result::IntervalFit& fit) {
  std::string out = fmt::format("{:<44}{:>8}{:>8}{:>9}{:>9}\n", "Spread of log(measured / predicted)", "sources",
                                "rows", "faster", "slower");
  for (const result::FittedSpread& s : fit.spreads) {
    out += fmt::format("{:<44}{:>8}{:>8}{:>9.3f}{:>9.3f}\n", s.cause, s.sources, s.rows, s.faster, s.slower);
  }
  out += fmt::format("\n{:<44}{:>8}{:>12}{:>12}\n", "In the 80 % interval, fitted", "rows", "with it", "without it");
  for (const result::FittedFile& f : fit.files) {
    out += fmt::format("{:<44}{:>8}{:>12}{:>12}\n", f.file, f.rows, percent(f.with), percent(f.without));
  }
  return out + fmt::format("{:<44}{:>8}{:>12}{:>12}\n", "mean of files of at least 5 rows", "", percent(fit.with),
                           percent(fit.without));
}

}  // namespace reports
