// reports/comparison_markdown.cpp -- the comparison as a table for documents: what each strategy takes, wastes and
// moves. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/comparison.h"

namespace reports {
namespace {

using result::Comparison;
using result::ComparisonRow;
using result::Prediction;
using Status = ComparisonRow::Status;

/// "workloads/jobs/strategies/tp8.yaml" as "tp8"; with what was varied behind it.
std::string name_of(const ComparisonRow& row) {
  std::string out = std::filesystem::path(row.job).stem().string();
  for (const auto& [path, value] : row.varied) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", path.substr(path.rfind('.') + 1), value);
  }
  return out.empty() ? row.prediction.job : out;
}

/// Time that communication adds to the step, of all axes.
double exposed(const Prediction& p) {
  double sum = 0;
  for (const auto& [name, seconds] : p.breakdown_s) {
    if (name.starts_with("exposed_")) sum += seconds;
  }
  return sum;
}

/// "tp 12.1 GB, dp 3.2 GB": payload of one rank in a step.
std::string moved(const Prediction& p) {
  std::string out;
  for (const result::Communication& axis : p.communication) {
    if (axis.bytes < 1'000'000) continue;  // norms and losses
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", axis.axis,
                       base::human(base::Bytes(static_cast<double>(axis.bytes))));
  }
  return out.empty() ? "nothing" : out;
}

std::string cell(std::string text) {
  for (std::size_t at = text.find('|'); at != text.npos; at = text.find('|', at + 2)) text.insert(at, "\\");
  return text;
}

}  // namespace

std::string markdown(const Comparison& c) {
  std::string out =
      "| job | step | tokens/s/GPU | exposed communication | bubble | peak memory | moved by one GPU in a step |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const ComparisonRow& row : c.rows) {
    if (row.status == Status::refused) {
      out += fmt::format("| {} | refused: {} | | | | | |\n", cell(name_of(row)), cell(row.refusal));
      continue;
    }
    const Prediction& p = row.prediction;
    out += fmt::format(
        "| {} | {} | {} | {:.1f} % | {:.1f} % | {}{} | {} |\n", cell(name_of(row)),
        base::human(base::Seconds(p.step_time_s)), base::with_commas(static_cast<long long>(p.tokens_per_s_per_gpu)),
        100 * exposed(p) / p.step_time_s, 100 * p.bubble_fraction,
        base::human(base::Bytes(static_cast<double>(p.peak_bytes))), p.fits ? "" : ", does not fit", moved(p));
  }
  return out;
}

}  // namespace reports
