// reports/comparison_markdown.cpp -- the comparison as a table for documents: what each strategy takes, wastes and
// moves. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/comparison.h"
#include "reports/row_names.h"

namespace reports {
namespace {

using result::Comparison;
using result::ComparisonRow;
using result::Prediction;
using Status = ComparisonRow::Status;

/// "workloads/jobs/strategies/tp8.yaml" as "tp8", with what was varied behind it; that alone where the job is one.
std::string name_of(const Comparison& c, const ComparisonRow& row) {
  const bool several =
      std::any_of(c.rows.begin(), c.rows.end(), [&](const ComparisonRow& other) { return other.job != row.job; });
  std::string out;
  if (several || row.varied.empty()) out = stem(row.job);
  for (const auto& [path, value] : row.varied) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", path.substr(path.rfind('.') + 1), value);
  }
  return out.empty() ? row.prediction.job : out;
}

/// "tp 12.1 GB, dp 3.2 GB": payload of one rank in a step.
std::string moved(const Prediction& p) {
  std::string out;
  for (const result::Communication& axis : p.communication) {
    if (axis.bytes < 1'000'000) continue;  // norms and losses
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", axis.axis,
                       base::human(base::Bytes(static_cast<double>(axis.bytes))));
  }
  if (!out.empty()) return out;
  const bool any =
      std::ranges::any_of(p.communication, [](const result::Communication& axis) { return axis.bytes > 0; });
  return any ? "less than 1 MB" : "nothing";
}

std::string escaped(std::string text) {
  for (std::size_t at = text.find('|'); at != text.npos; at = text.find('|', at + 2)) text.insert(at, "\\");
  return text;
}

}  // namespace

std::string markdown(const Comparison& c) {
  const bool sizes = result::gpus_differ(c);
  std::string out = std::string("| job |") + (sizes ? " GPUs |" : "") + " step | against the best | " +
                    result::counted(c) +
                    "/s/GPU | exposed communication | bubble | peak memory | moved by one GPU in a step |\n"
                    "|---|---|---|---|---|---|---|---|" +
                    (sizes ? "---|\n" : "\n");
  for (const ComparisonRow& row : c.rows) {
    if (row.status == Status::refused) {
      out += fmt::format("| {} |{} refused: {} | | | | | | |\n", escaped(name_of(c, row)), sizes ? " |" : "",
                         escaped(row.refusal));
      continue;
    }
    const Prediction& p = row.prediction;
    out += fmt::format("| {} |{} {} | {:.3f} | {} | {:.1f} % | {:.1f} % | {}{} | {} |\n", escaped(name_of(c, row)),
                       sizes ? fmt::format(" {} |", p.gpus) : "", base::human(base::Seconds(pace_s(p))),
                       result::slowdown(c, row), base::with_commas(std::llround(p.tokens_per_s_per_gpu)),
                       100 * result::exposed_s(p) / p.step_time_s, 100 * p.bubble_fraction,
                       base::human(base::Bytes(static_cast<double>(p.peak_bytes))), p.fits ? "" : ", does not fit",
                       moved(p));
  }
  std::string notes;
  for (const ComparisonRow& row : c.rows) {
    for (const std::string& warning : result::own_warnings(c, row)) {
      notes += fmt::format("- {}: {}\n", name_of(c, row), warning);
    }
  }
  return notes.empty() ? out : out + "\n" + notes;
}

}  // namespace reports
