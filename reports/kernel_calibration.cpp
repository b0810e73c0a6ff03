// SPDX-License-Identifier: Apache-2.0
#include "reports/kernel_calibration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/text.h"
#include "reports/json_object.h"

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

std::string figures(const result::LogErrors& e) {
  return fmt::format("{:>8.3f}{:>+8.3f}{:>7.3f}{:>7.3f}", e.median_abs, e.median, e.p90_abs, e.spread);
}

std::string besides(const result::CurveFit& one) {
  if (!one.kept_constants.empty()) return fmt::format(", but {}", fmt::join(one.kept_constants, ", "));
  return one.host_s > 0 ? ", less " + base::human(base::Seconds(one.host_s)) + " of the host" : "";
}

}  // namespace

std::string kernel_calibration_text(const result::KernelCalibration& report) {
  std::string out =
      "log(predicted / measured): median absolute, median, 90th percentile absolute, root mean square\n\n";
  std::size_t names = 13;
  for (const result::CurveFit& one : report.curves) names = std::max(names, one.calibration.size());
  out += fmt::format("{:<{}} {:<22}{:<31}{:>6}  {:<28}  {:<28}\n", "calibration", names, "curve", "rows of", "rows",
                     "   before", "   after");
  for (const result::CurveFit& one : report.curves) {
    out += fmt::format("{:<{}} {:<22}{:<31}{:>6}{}  {}  {}{}\n", one.calibration, names, one.family,
                       one.source.substr(0, 30), one.rows, figures(one.before), figures(one.after), name(one.verdict),
                       besides(one));
  }
  out +=
      "\nfitted: the curve was drawn to these rows; kept: the one that stood there meets them better; beside: rows of "
      "others,\n"
      "not fitted; too few: fewer than 5, or 100 where two algorithms are drawn\n"
      "together; but: constants that these rows do not tell, left as they were\n";
  if (!report.followed.empty())
    out += fmt::format("\nassumed as another curve, and changed with it:\n  {}\n", fmt::join(report.followed, "\n  "));
  if (!report.assumed.empty())
    out += fmt::format("\nno row to fit to, assumed:\n  {}\n", fmt::join(report.assumed, "\n  "));
  if (!report.left_out.empty()) out += "\nrows left out:\n";
  for (const auto& [why, rows] : report.left_out) out += fmt::format("{:>8}  {}\n", rows, why);
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
