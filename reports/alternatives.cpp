// SPDX-License-Identifier: Apache-2.0
#include "reports/alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/json.h"
#include "reports/json_object.h"
#include "reports/layout.h"
#include "reports/quantity.h"
#include "reports/table.h"

namespace reports {
namespace {

using result::Alternative;
using result::Alternatives;
using result::Prediction;

struct Row {
  std::string name;
  const Prediction* step;
};

std::vector<Row> rows_of(const Alternatives& a) {
  std::vector<Row> out{{"as it is", &a.before}};
  for (const Alternative& one : a.after) out.push_back({one.change, &one.prediction});
  return out;
}

int width_of(const std::vector<Row>& rows) {
  int width = 0;
  for (const Row& row : rows) width = std::max(width, columns(row.name));
  return std::min(width, 34);
}

Cell memory(const Prediction& p) {
  const auto bytes = [](std::int64_t n) { return base::human(base::Bytes(static_cast<double>(n))); };
  const std::string text = fmt::format("{} of {}", bytes(p.peak_bytes), bytes(p.capacity_bytes));
  return p.fits ? Cell(text) : Cell(text + ", too much", Ink::red);
}

std::string steps(const std::vector<Row>& rows, int width, const Style& style) {
  using enum Column::Kind;
  Table table(2, {{"", text, width},
                  {"step time", number, 11},
                  {"", number, 9, 1, true},
                  {std::string(result::counted(*rows.front().step)) + "/s", number, 13},
                  {"MFU", number, 8},
                  {"memory", text, 0, 2}});
  const double before = rows.front().step->step_time_s;
  for (const Row& row : rows) {
    const Prediction& p = *row.step;
    const std::string change =
        &row == &rows.front() ? "" : fmt::format("{:+.1f} %", (p.step_time_s / before - 1) * 100);
    table.add({row.name,
               seconds(p.step_time_s),
               {change, p.step_time_s > before ? Ink::red : Ink::green},
               base::with_commas(std::llround(p.tokens_per_s)),
               percent(p.mfu),
               memory(p)});
  }
  return '\n' + table.text(style);
}

/// One column for each share that any of the rows has.
std::string shares(const std::vector<Row>& rows, int width, const Style& style) {
  using enum Column::Kind;
  constexpr int kColumn = 11;
  const auto& names = rows.front().step->breakdown_s;
  std::vector<Column> columns{{"where the time goes", text, width}};
  std::vector<std::size_t> shown;
  for (std::size_t k = 0; k < names.size(); ++k) {
    const auto has = [&](const Row& row) { return row.step->breakdown_s[k].second > 0; };
    if (std::none_of(rows.begin(), rows.end(), has)) continue;
    columns.push_back({spaced(names[k].first), number, kColumn});
    shown.push_back(k);
  }
  Table table(2, std::move(columns));
  for (const Row& row : rows) {
    std::vector<Cell> cells{row.name};
    for (const std::size_t k : shown) cells.emplace_back(seconds(row.step->breakdown_s[k].second));
    table.add(std::move(cells));
  }
  return '\n' + table.text(style);
}

std::string settings(const Alternatives& a, const Style& style) {
  using enum Column::Kind;
  Table table(2, {{"", text, 34}, {"", number, 13}, {"", text, 0}});
  for (const Alternative& one : a.after) {
    if (&one == &a.after.back() && a.after.size() > 1) break;  // together: all that was told before
    for (const result::ChangedInput& input : one.inputs) {
      table.add({input.input, human(input.before, input.unit), "to " + human(input.after, input.unit)});
    }
  }
  return "\nChanged\n" + table.text(style);
}

Json step_json(const Prediction& p) {
  return {{"step_time_s", p.step_time_s},
          {"tokens_per_s", p.tokens_per_s},
          {"mfu", p.mfu},
          {"fits", p.fits},
          {"peak_bytes", p.peak_bytes},
          {"capacity_bytes", p.capacity_bytes},
          {"bubble_fraction", p.bubble_fraction},
          {"breakdown_s", object_of(p.breakdown_s)}};
}

}  // namespace

std::string text(const Alternatives& a, const Style& style) {
  const std::vector<Row> rows = rows_of(a);
  const int width = std::max(width_of(rows), 19);
  return paragraph("", a.before.job, style.columns) + steps(rows, width, style) + shares(rows, width, style) +
         settings(a, style);
}

std::string json(const Alternatives& a) {
  Json out;
  out["schema"] = kSchema;
  out["job"] = a.before.job;
  out["before"] = step_json(a.before);
  out["after"] = Json::array();
  for (const Alternative& one : a.after) {
    Json entry{{"change", one.change}, {"inputs", Json::array()}};
    for (const result::ChangedInput& input : one.inputs) {
      entry["inputs"].push_back(
          {{"input", input.input}, {"unit", input.unit}, {"before", input.before}, {"after", input.after}});
    }
    entry["saved_s"] = a.before.step_time_s - one.prediction.step_time_s;
    entry.update(step_json(one.prediction));
    out["after"].push_back(std::move(entry));
  }
  out["refused"] = Json::array();
  for (const result::RefusedChange& one : a.refused) {
    out["refused"].push_back({{"change", one.change}, {"refusal", one.refusal}});
  }
  return text_of(out);
}

}  // namespace reports
