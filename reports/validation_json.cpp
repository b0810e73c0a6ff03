// reports/validation_json.cpp -- a validation for programs. SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "reports/holdout.h"
#include "reports/json.h"
#include "reports/json_object.h"
#include "reports/validation.h"

namespace reports {
namespace {

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json case_json(const result::ValidationCase& row) {
  Json out{{"id", row.id},
           {"tier", row.tier},
           {"measured_s", maybe(row.measured_s)},
           {"predicted_s", maybe(row.predicted_s)},
           {"error", maybe(row.error)},
           {"low_s", maybe(row.low_s)},
           {"high_s", maybe(row.high_s)},
           {"inside", maybe(row.inside)},
           {"fits", maybe(row.fits)},
           {"measured_fits", maybe(row.measured_fits)},
           {"measured_bytes", maybe(row.measured_bytes)},
           {"memory_kind", row.memory_kind},
           {"predicted_bytes", maybe(row.predicted_bytes)},
           {"memory_error", maybe(row.memory_error)},
           {"interval_contributions", interval_contributions(row.interval_contributions)},
           {"labels", object_of(row.labels)},
           {"warnings", row.warnings}};
  if (row.refused()) out["error_message"] = row.error_message;
  out["notes"] = row.notes;
  return out;
}

void add_figures(Json& out, const result::ValidationFigures& f) {
  out["mape"] = maybe(f.mape);
  out["median_abs_error"] = maybe(f.median_abs_error);
  out["mean_signed_error"] = maybe(f.mean_signed_error);
  out["p90_abs_error"] = maybe(f.p90_abs_error);
  out["coverage_80"] = maybe(f.coverage_80);
  out["memory_mape"] = maybe(f.memory_mape);
  out["fits_right"] = maybe(f.fits_right);
  out["kendall_tau"] = maybe(f.kendall_tau);
}

Json summary_json(const result::ValidationSummary& s) {
  Json out{{"rows", s.rows}, {"refused", s.refused}};
  add_figures(out, s);
  out["memory_rows"] = s.memory_rows;
  out["fits_rows"] = s.fits_rows;
  out["missed_misfits"] = s.missed_misfits;
  out["false_misfits"] = s.false_misfits;
  out["rankings"] = s.rankings;
  return out;
}

Json file_json(const result::ValidationFile& file) {
  Json rankings = Json::array();
  for (const result::Ranking& ranking : file.rankings) {
    rankings.push_back(
        {{"of", ranking.of}, {"rows", ranking.rows}, {"kendall_tau", ranking.kendall_tau}, {"regret", ranking.regret}});
  }
  Json cases = Json::array();
  for (const result::ValidationCase& row : file.cases) cases.push_back(case_json(row));
  return {{"file", file.file},
          {"source", object_of(file.source)},
          {"summary", summary_json(file.summary)},
          {"rankings", std::move(rankings)},
          {"cases", std::move(cases)}};
}

}  // namespace

std::string validation_json(const result::Validation& v, const std::vector<result::ValidationGrouping>& groupings,
                            const result::Holdout* holdout) {
  Json out;
  out["schema"] = kSchema;
  out["files"] = Json::array();
  for (const result::ValidationFile& file : v.files) out["files"].push_back(file_json(file));
  out["summary"] = summary_json(v.summary);
  out["summary"]["macro"] = {{"files", v.macro.files}};
  add_figures(out["summary"]["macro"], v.macro);
  for (const result::ValidationGrouping& grouping : groupings) {
    Json& groups = out["groups"][grouping.key] = Json::object();
    for (const result::ValidationGroup& group : grouping.groups) groups[group.label] = summary_json(group.summary);
  }
  if (holdout) out["holdout"] = holdout_json(*holdout);
  return text_of(out);
}

}  // namespace reports
