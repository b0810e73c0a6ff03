// reports/holdout_json.cpp -- cross-validation for programs. SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "reports/holdout.h"

namespace reports {
namespace {

using result::Holdout;
using result::HoldoutChoice;

Json maybe(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json figures(const result::HoldoutFigures& f) {
  return {{"median_abs_error", f.median_abs_error}, {"mape", f.mape}, {"mean_signed_error", f.mean_signed_error}};
}

/// A group or the mean of all.
template <class Row>
void add_of_choices(Json& out, const Row& row) {
  out["catalogue"] = figures(row.present);
  out["in_sample"] = figures(row.in_sample);
  out["held_out"] = figures(row.held_out);
  out["coverage_80"] = maybe(row.inside_with);
  out["held_out_coverage_80"] = maybe(row.inside_without);
}

Json group_json(const Holdout& holdout, const result::HoldoutGroup& group) {
  Json out{{"group", group.name}, {"rows", group.rows}};
  add_of_choices(out, group);
  out["changes"] = Json::object();
  for (const result::HoldoutChange& change : group.changes) {
    const HoldoutChoice& choice = holdout.choices[change.choice];
    out["changes"][choice.name] = choice.alternatives[change.alternative].name;
  }
  return out;
}

Json choice_json(const HoldoutChoice& choice) {
  Json alternatives = Json::array();
  for (const result::HoldoutAlternative& one : choice.alternatives) {
    alternatives.push_back(
        {{"alternative", one.name}, {"rows", one.rows}, {"alone", one.alone}, {"beside_refit", one.beside_refit}});
  }
  return {{"choice", choice.name},
          {"decides", choice.decides},
          {"catalogue", choice.alternatives[choice.present].name},
          {"in_sample", choice.alternatives[choice.in_sample].name},
          {"alternatives", std::move(alternatives)}};
}

}  // namespace

Json holdout_json(const Holdout& holdout) {
  Json out{{"key", holdout.key}, {"ratio", holdout.ratio}};
  add_of_choices(out, holdout);
  out["groups"] = Json::array();
  for (const result::HoldoutGroup& group : holdout.groups) out["groups"].push_back(group_json(holdout, group));
  out["choices"] = Json::array();
  for (const HoldoutChoice& choice : holdout.choices) out["choices"].push_back(choice_json(choice));
  return out;
}

}  // namespace reports
