// SPDX-License-Identifier: Apache-2.0
#include "reports/html/validation_page.h"

#include <fmt/format.h>

#include <optional>

#include "core/base/text.h"
#include "reports/html/charts.h"
#include "reports/html/page.h"
#include "reports/layout.h"
#include "reports/row_names.h"

namespace reports {
namespace {

using html::Cell;
using html::Table;
using result::Validation;
using result::ValidationCase;
using result::ValidationFigures;
using result::ValidationFile;

Cell maybe_share(const std::optional<double>& value) { return value ? html::share(*value) : html::none(); }
Cell maybe_signed(const std::optional<double>& value) { return value ? html::signed_share(*value) : html::none(); }
Cell maybe(const std::optional<double>& value, const char* unit) {
  return value ? html::quantity(*value, unit) : html::none();
}
Cell maybe_bytes(const std::optional<std::int64_t>& value) { return value ? html::bytes(*value) : html::none(); }
std::string told(const std::optional<double>& value) { return value ? percent(*value) : "not known"; }

std::string answer(const Validation& v) {
  if (v.summary.rows == 0) return "No step time was both measured and predicted.";
  return fmt::format(
      "Half of {} predicted steps are within {} of the measurement, nine of ten within {}; {} of the measured times "
      "lie in their 80 % interval.",
      base::with_commas(v.summary.rows), told(v.summary.median_abs_error), told(v.summary.p90_abs_error),
      told(v.summary.coverage_80));
}

std::vector<html::KeyFigure> key_figures(const Validation& v) {
  const auto& s = v.summary;
  std::vector<html::KeyFigure> out{
      {"Median error", told(s.median_abs_error), fmt::format("of {} steps", base::with_commas(s.rows))},
      {"Mean signed error", s.mean_signed_error ? fmt::format("{:+.1f} %", *s.mean_signed_error * 100) : "not known",
       "above zero: predicted too slow"},
      {"In the 80 % interval", told(s.coverage_80), "should be 80 %"},
      {"Memory", told(s.memory_mape), fmt::format("mean error of {} peaks", base::with_commas(s.memory_rows))}};
  if (s.refused > 0) out.push_back({"Refused", base::with_commas(s.refused), "cases that cannot be run"});
  return out;
}

void add_figures(const ValidationFigures& f, std::vector<Cell>& cells) {
  for (Cell& cell : std::vector<Cell>{maybe_share(f.median_abs_error), maybe_signed(f.mean_signed_error),
                                      maybe_share(f.p90_abs_error), maybe_share(f.mape), maybe_share(f.coverage_80),
                                      maybe_share(f.memory_mape)}) {
    cells.push_back(std::move(cell));
  }
}

Table summary_table(const std::string& caption, const std::string& first) {
  return {caption,
          {{"name", first},
           {"rows", "Steps", true},
           {"refused", "Refused", true},
           {"median", "Median error", true},
           {"signed", "Mean signed", true},
           {"p90", "90 % below", true},
           {"mape", "Mean error", true},
           {"inside", "In the 80 % interval", true},
           {"memory", "Memory", true}},
          {}};
}

std::string by_source(const Validation& v, const std::vector<result::ValidationGrouping>& groupings) {
  Table table = summary_table("Errors by source", "Source");
  for (const ValidationFile& file : v.files) {
    std::vector<Cell> cells{html::text(stem(file.file)), html::count(file.summary.rows),
                            html::count(file.summary.refused)};
    add_figures(file.summary, cells);
    table.rows.push_back(std::move(cells));
  }
  std::string out = html::html_of(table, true);
  for (const result::ValidationGrouping& grouping : groupings) {
    Table groups = summary_table("Errors by " + grouping.key, grouping.key);
    for (const result::ValidationGroup& group : grouping.groups) {
      std::vector<Cell> cells{html::text(group.label), html::count(group.summary.rows),
                              html::count(group.summary.refused)};
      add_figures(group.summary, cells);
      groups.rows.push_back(std::move(cells));
    }
    out += html::html_of(groups, true);
  }
  return out;
}

/// Every case, those that could not be run, too.
Table cases(const Validation& v) {
  Table table{"All cases",
              {{"label", "Case"},
               {"kind", "Source"},
               {"tier", "Tier"},
               {"measured", "Measured", true},
               {"predicted", "Predicted", true},
               {"error", "Error", true},
               {"inside", "In the interval"},
               {"measured_memory", "Measured memory", true},
               {"predicted_memory", "Predicted memory", true},
               {"memory_error", "Memory error", true},
               {"refused", "Refused because"}},
              {}};
  for (const ValidationFile& file : v.files) {
    for (const ValidationCase& one : file.cases) {
      table.rows.push_back({html::text(one.id), html::text(stem(file.file)), html::text(one.tier),
                            maybe(one.measured_s, "s"), maybe(one.predicted_s, "s"), maybe_signed(one.error),
                            html::text(one.inside ? (*one.inside ? "yes" : "no") : "–"),
                            maybe_bytes(one.measured_bytes), maybe_bytes(one.predicted_bytes),
                            maybe_signed(one.memory_error),
                            html::text(one.error_message.substr(0, one.error_message.find('\n')))});
    }
  }
  return table;
}

/// Those with a step time measured and predicted.
Table timed(const Table& all) {
  Table out = all;
  std::erase_if(out.rows, [](const auto& row) { return !row[5].number; });
  return out;
}

}  // namespace

namespace html {

Chart accuracy_chart(const Validation& v) {
  std::vector<std::string> sources{"all"};
  for (const ValidationFile& file : v.files) {
    if (file.summary.rows > 0) sources.push_back(stem(file.file));
  }
  return {"scatter",
          "Predicted against measured step time.",
          "A point is a step, a colour its source. On the line both are equal; between the dashed ones "
          "they are within 10 %.",
          timed(cases(v)),
          {{"source", {{"value", "all"}, {"options", sources}}}},
          Json::object(),
          true};
}

Chart error_chart(const Validation& v) {
  return {"histogram",
          "How the errors are spread.",
          "Steps by predicted over measured less one, 5 % a bar; those beyond 100 % stand at the ends.",
          timed(cases(v)),
          Json::object(),
          Json::object(),
          true};
}

}  // namespace html

void write_html(const Validation& v, const std::vector<result::ValidationGrouping>& groupings,
                const std::string& version, std::ostream& out) {
  const Table all = cases(v);
  html::Page page{"validate",     fmt::format("Predictions against measurements of {} sources", v.files.size()),
                  answer(v),      false,
                  key_figures(v), {},
                  version};
  page.sections = {{"scatter", "Predicted and measured", html::figure(html::accuracy_chart(v))},
                   {"residuals", "Errors", html::figure(html::error_chart(v))},
                   {"sources", "By source", by_source(v, groupings)},
                   {"cases", "All cases", html::html_of(all, true)}};
  html::write(page, out);
}

}  // namespace reports
