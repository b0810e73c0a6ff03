// SPDX-License-Identifier: Apache-2.0
#include "sim/validation/cross_validate.h"

#include <algorithm>
#include <map>

#include "sim/validation/accuracy.h"
#include "sim/validation/choice_steps.h"
#include "sim/validation/holdout.h"
#include "sim/validation/interval_fit.h"

namespace sim {
namespace {

using result::ValidationCase;

/// Every case as it was read, by its row.
std::map<const ValidationCase*, const config::Case*> cases_by_row(const std::vector<config::CaseFile>& files,
                                                                  const result::Validation& validation) {
  std::map<const ValidationCase*, const config::Case*> out;
  for (std::size_t f = 0; f < files.size(); ++f) {
    for (std::size_t i = 0; i < files[f].cases.size(); ++i) {
      out[&validation.files[f].cases[i]] = &files[f].cases[i];
    }
  }
  return out;
}

void name(const std::vector<config::Choice>& choices, result::Holdout& out) {
  for (std::size_t c = 0; c < choices.size(); ++c) {
    out.choices[c].name = choices[c].name;
    out.choices[c].decides = choices[c].decides;
    for (std::size_t a = 0; a < choices[c].alternatives.size(); ++a) {
      out.choices[c].alternatives[a].name = choices[c].alternatives[a].name;
    }
  }
}

void add_coverage(const result::Validation& validation, result::Holdout& out) {
  const result::IntervalFit fit = fit_interval(validation.files);
  for (result::HoldoutGroup& group : out.groups) {
    const auto at = std::find_if(fit.files.begin(), fit.files.end(),
                                 [&](const result::FittedFile& file) { return file.file == group.name; });
    if (at == fit.files.end()) continue;
    group.inside_with = at->with;
    group.inside_without = at->without;
  }
  out.inside_with = fit.with;
  out.inside_without = fit.without;
}

}  // namespace

result::Holdout cross_validate(const std::vector<config::CaseFile>& files, const result::Validation& validation,
                               std::vector<config::Choice> choices, const config::Catalogue& catalogue,
                               const std::string& key, const Progress& progress) {
  const auto cases = cases_by_row(files, validation);
  std::vector<RowGroup> groups;
  std::vector<MeasuredJob> jobs;
  for (auto& [label, rows] : rows_by(validation.files, key)) {
    std::erase_if(rows, [](const ValidationCase* row) { return !row->error; });
    if (rows.size() < kFewestRowsOfGroup) continue;
    RowGroup& group = groups.emplace_back(RowGroup{label, {}});
    for (const ValidationCase* row : rows) {
      const config::Case& read = *cases.at(row);
      group.rows.push_back(jobs.size());
      jobs.push_back({read.written, read.entries, base::Seconds(*row->measured_s), base::Seconds(*row->predicted_s)});
    }
  }
  if (groups.size() < 2) {
    throw base::InputError({{"--holdout",
                             "no two groups by '" + key + "' have " + std::to_string(kFewestRowsOfGroup) +
                                 " rows with a measured step time",
                             "name more files, or another key",
                             {}}});
  }
  ChoiceSteps steps(choices, catalogue, std::move(jobs), progress);
  result::Holdout out = hold_out(steps.space(), groups,
                                 [&](const Selection& at) -> const std::vector<double>& { return steps.errors(at); });
  out.key = key;
  name(choices, out);
  if (key == "source") add_coverage(validation, out);
  return out;
}

}  // namespace sim
