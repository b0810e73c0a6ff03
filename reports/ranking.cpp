// SPDX-License-Identifier: Apache-2.0
#include "reports/ranking.h"

#include <fmt/format.h>

#include "reports/layout.h"
#include "reports/row_names.h"

namespace reports {
namespace {

constexpr double kGoodChoice = 0.03;

}  // namespace

std::string ranking_markdown(const result::Validation& validation) {
  std::string out =
      "| source | model and cluster | strategies | Kendall's tau | first choice against the best "
      "|\n|---|---|---|---|---|\n";
  int count = 0, good = 0;
  double tau = 0;
  for (const result::ValidationFile& file : validation.files) {
    for (const result::Ranking& r : file.rankings) {
      out += fmt::format("| {} | {} | {} | {:.2f} | +{} |\n", stem(file.file), r.of, r.rows, r.kendall_tau,
                         percent(r.regret));
      ++count;
      good += r.regret <= kGoodChoice ? 1 : 0;
      tau += r.kendall_tau;
    }
  }
  if (count == 0) return "No model has four strategies or more on one cluster.\n";
  return out + fmt::format("\n{} rankings: mean tau {:.3f}; the first choice is within 3 % of the best in {} ({}).\n",
                           count, tau / count, good, percent(static_cast<double>(good) / count));
}

}  // namespace reports
