// SPDX-License-Identifier: Apache-2.0
#include "reports/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/layout.h"
#include "reports/quantity.h"
#include "reports/row_names.h"
#include "reports/table.h"

namespace reports {
namespace {

using result::Validation;
using result::ValidationCase;
using result::ValidationFigures;
using result::ValidationFile;
using result::ValidationSummary;

constexpr std::size_t kMostReasons = 10, kFarthest = 5;

std::string with_sign(const std::optional<double>& value) {
  return value ? fmt::format("{:+.1f} %", *value * 100) : "-";
}

Table figures_by(const std::string& title) {
  using enum Column::Kind;
  return {0,
          {{title, text, 28},
           {"rows", number, 5},
           {"refused", number, 8},
           {"median", number, 9},
           {"signed", number, 9},
           {"p90", number, 8},
           {"MAPE", number, 8},
           {"in 80%", number, 8},
           {"memory", number, 8},
           {"fits", number, 8}}};
}

void add(Table& table, const std::string& name, const std::string& rows, const std::string& refused,
         const ValidationFigures& f) {
  table.add({name, rows, refused, percent(f.median_abs_error), with_sign(f.mean_signed_error), percent(f.p90_abs_error),
             percent(f.mape), percent(f.coverage_80), percent(f.memory_mape), percent(f.fits_right)});
}

void add(Table& table, const std::string& name, const ValidationSummary& s) {
  add(table, name, std::to_string(s.rows), std::to_string(s.refused), s);
}

/// The first fault without its place and its mend: "strategy.ep: 8 is not supported by this version".
std::string reason(const std::string& message) {
  std::string text = message.substr(0, message.find('\n'));
  constexpr std::string_view kMark = "error: ";
  if (const std::size_t at = text.find(kMark); at != text.npos) text.erase(0, at + kMark.size());
  return text;
}

std::string refusals(const Validation& v, const Style& style) {
  std::vector<std::pair<std::string, int>> reasons;
  for (const ValidationFile& file : v.files) {
    for (const ValidationCase& row : file.cases) {
      if (!row.refused()) continue;
      const std::string why = reason(row.error_message);
      auto at = std::find_if(reasons.begin(), reasons.end(), [&](const auto& known) { return known.first == why; });
      at == reasons.end() ? void(reasons.emplace_back(why, 1)) : void(++at->second);
    }
  }
  if (reasons.empty()) return "";
  std::stable_sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out = fmt::format("\nRefused ({}), by their first fault\n", v.summary.refused);
  for (std::size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    out += paragraph(fmt::format("{:>6}  ", reasons[i].second), reasons[i].first, style.columns);
  }
  if (reasons.size() > kMostReasons) out += fmt::format("        and {} more\n", reasons.size() - kMostReasons);
  return out;
}

/// Red: not in the 80 % interval, so the prediction was surer than it should have been.
std::string farthest(const Validation& v, const Style& style) {
  std::vector<const ValidationCase*> rows;
  for (const ValidationFile& file : v.files) {
    for (const ValidationCase& row : file.cases) {
      if (row.error) rows.push_back(&row);
    }
  }
  if (rows.empty()) return "";
  const auto farther = [](auto* a, auto* b) { return std::abs(*a->error) > std::abs(*b->error); };
  std::stable_sort(rows.begin(), rows.end(), farther);
  rows.resize(std::min(rows.size(), kFarthest));
  using enum Column::Kind;
  Table table(0, {{"", number, 9}, {"", number, 21}, {"", number, 20}, {"", text, 0, 2}});
  for (const ValidationCase* row : rows) {
    const auto ink = row->inside.value_or(true) ? std::nullopt : std::optional(Ink::red);
    table.add({{with_sign(row->error), ink},
               base::human(base::Seconds(*row->predicted_s)) + " predicted,",
               base::human(base::Seconds(*row->measured_s)) + " measured",
               row->id});
  }
  return "\nFarthest off\n" + table.text(style);
}

std::string fits_and_ranks(const ValidationSummary& s, const Style& style) {
  std::string out;
  if (s.fits_rows > 0) {
    out += paragraph(
        "",
        fmt::format("Fits: right for {} of {} rows; {} ran out of memory where the prediction fits, {} ran "
                    "where it does not.",
                    s.fits_rows - s.missed_misfits - s.false_misfits, s.fits_rows, s.missed_misfits, s.false_misfits),
        style.columns);
  }
  if (s.kendall_tau) {
    out += paragraph("",
                     fmt::format("Order of strategies: Kendall's tau {:.2f}, mean of {} groups of one model on one "
                                 "cluster.",
                                 *s.kendall_tau, s.rankings),
                     style.columns);
  }
  return out.empty() ? out : '\n' + out;
}

/// A bar would end the cell, a line break the row.
std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
  return out;
}

std::string markdown_source(const ValidationFile& file) {
  std::string out;
  for (const auto& [key, text] : file.source) {
    if (key != "paper" && key != "repo" && key != "arxiv") continue;
    out += (out.empty() ? "" : ", ") + (key == "arxiv" ? "arXiv " : std::string()) + text;
  }
  return markdown_cell(out);
}

std::string markdown_line(const std::string& name, const std::string& source, const std::string& rows,
                          const ValidationFigures& f) {
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", name, source, rows, percent(f.median_abs_error),
                     with_sign(f.mean_signed_error), percent(f.p90_abs_error), percent(f.coverage_80),
                     percent(f.memory_mape));
}

std::string ran(const ValidationSummary& s) {
  return s.refused > 0 ? fmt::format("{} ({} refused)", s.rows, s.refused) : std::to_string(s.rows);
}

}  // namespace

std::string validation_text(const Validation& v, const Style& style) {
  Table table = figures_by("Measurements");
  for (const ValidationFile& file : v.files) add(table, stem(file.file), file.summary);
  add(table, "all rows", v.summary);
  if (v.macro.files > 0) add(table, fmt::format("mean of {} files", v.macro.files), "", "", v.macro);
  return table.text(style) + fits_and_ranks(v.summary, style) + refusals(v, style) + farthest(v, style);
}

std::string grouping_text(const result::ValidationGrouping& grouping, const Style& style) {
  Table table = figures_by("By " + grouping.key);
  for (const result::ValidationGroup& group : grouping.groups) add(table, group.label, group.summary);
  return '\n' + table.text(style);
}

std::string validation_markdown(const Validation& v) {
  std::string out =
      "| Measurements | Source | Steps | Median error | Mean signed error | 90 % below | In the 80 % interval | Memory "
      "|\n"
      "|---|---|---:|---:|---:|---:|---:|---:|\n";
  for (const ValidationFile& file : v.files) {
    out += markdown_line(markdown_cell(stem(file.file)), markdown_source(file), ran(file.summary), file.summary);
  }
  out += markdown_line("**all rows**", "", ran(v.summary), v.summary);
  if (v.macro.files > 0) {
    out += markdown_line("**mean of files**", fmt::format("files of at least 5 rows: {}", v.macro.files), "", v.macro);
  }
  return out;
}

}  // namespace reports
