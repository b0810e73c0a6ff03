// SPDX-License-Identifier: Apache-2.0
#include "reports/kernel_calibration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/text.h"
#include "reports/json_object.h"
#include "reports/layout.h"
#include "reports/table.h"

namespace reports {
namespace {

const char* name(result::CurveFit::Verdict verdict) {
  switch (verdict) {
    case result::CurveFit::Verdict::replaced: return "fitted";
    case result::CurveFit::Verdict::kept: return "kept";
    case result::CurveFit::Verdict::not_fitted: return "beside";
    case result::CurveFit::Verdict::too_few: return "too few";
  }
  return "";
}

void add(std::vector<Cell>& cells, const result::LogErrors& e) {
  cells.emplace_back(fmt::format("{:.3f}", e.median_abs));
  cells.emplace_back(fmt::format("{:+.3f}", e.median));
  cells.emplace_back(fmt::format("{:.3f}", e.p90_abs));
  cells.emplace_back(fmt::format("{:.3f}", e.spread));
}

std::string besides(const result::CurveFit& one) {
  if (!one.kept_constants.empty()) return fmt::format(", but {}", fmt::join(one.kept_constants, ", "));
  return one.host_s > 0 ? ", less " + base::human(base::Seconds(one.host_s)) + " of the host" : "";
}

std::string listed(const std::vector<std::string>& lines, const Style& style) {
  std::string out;
  for (const std::string& line : lines) out += paragraph("  ", line, style.columns);
  return out;
}

}  // namespace

std::string kernel_calibration_text(const result::KernelCalibration& report, const Style& style) {
  using enum Column::Kind;
  Table table(0, {{"calibration", text, 13},
                  {"curve", text, 22},
                  {"rows of", text, 30},
                  {"rows", number, 7},
                  {"", number, 8},
                  {"", number, 8, 1, true},
                  {"", number, 7, 1, true},
                  {"", number, 7, 1, true},
                  {"", number, 10},
                  {"", number, 8, 1, true},
                  {"", number, 7, 1, true},
                  {"", number, 7, 1, true},
                  {"", text, 0, 2}});
  table.add_above({"", "", "", "", "", "", "", "before", "", "", "", "after"});
  for (const result::CurveFit& one : report.curves) {
    std::vector<Cell> cells{one.calibration, one.family, one.source, std::to_string(one.rows)};
    add(cells, one.before);
    add(cells, one.after);
    cells.emplace_back(name(one.verdict) + besides(one));
    table.add(std::move(cells));
  }
  std::string out =
      paragraph("", "log(predicted / measured): median absolute, median, 90th percentile absolute, root mean square",
                style.columns) +
      '\n' + table.text(style) + '\n' +
      paragraph("",
                "fitted: the curve was drawn to these rows; kept: the one that stood there meets them better; beside: "
                "rows of others, not fitted; too few: fewer than 5, or 100 where two algorithms are drawn together; "
                "but: constants that these rows do not tell, left as they were",
                style.columns);
  if (!report.followed.empty())
    out += "\nassumed as another curve, and changed with it:\n" + listed(report.followed, style);
  if (!report.assumed.empty()) out += "\nno row to fit to, assumed:\n" + listed(report.assumed, style);
  if (!report.left_out.empty()) out += "\nrows left out:\n";
  for (const auto& [why, rows] : report.left_out) out += paragraph(fmt::format("{:>8}  ", rows), why, style.columns);
  return out;
}

namespace {

Json json_of(const result::LogErrors& e) {
  return {{"median_abs", e.median_abs}, {"median", e.median}, {"p90_abs", e.p90_abs}, {"spread", e.spread}};
}

}  // namespace

std::string kernel_calibration_json(const result::KernelCalibration& report) {
  Json out{{"schema", 1},
           {"curves", Json::array()},
           {"followed", report.followed},
           {"assumed", report.assumed},
           {"left_out", report.left_out}};
  for (const result::CurveFit& one : report.curves) {
    out["curves"].push_back({{"calibration", one.calibration},
                             {"curve", one.family},
                             {"source", one.source},
                             {"rows", one.rows},
                             {"verdict", name(one.verdict)},
                             {"kept_constants", one.kept_constants},
                             {"host_s", one.host_s},
                             {"before", json_of(one.before)},
                             {"after", json_of(one.after)}});
  }
  return out.dump(2) + '\n';
}

std::string residuals_csv(const result::ResidualTable& table) {
  std::string out = fmt::format("{}\n", fmt::join(table.columns, ","));
  for (const std::vector<std::string>& row : table.rows) out += fmt::format("{}\n", fmt::join(row, ","));
  return out;
}

}  // namespace reports
