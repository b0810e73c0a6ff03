// The candidates of a purchase plan: days against cost as a chart, and everything about each as a table.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/base/money.h"
#include "reports/html/chart.h"
#include "reports/html/page.h"
#include "reports/html/purchase_sections.h"
#include "reports/layout.h"
#include "reports/purchase.h"
#include "reports/quantity.h"
#include "reports/shortfall.h"
#include "reports/tight.h"

namespace reports::html {
namespace {

using result::Purchase;
using result::PurchaseRow;

constexpr double kNear = 1.5;  // a limit further off than this many times the data would squash them

Cell money_cell(double dollars) { return {reports::money(dollars), dollars, {}}; }
Cell millions(double value) { return {fmt::format("{:.3g}", value / 1e6), value, {}}; }
Cell duration(double seconds) { return {days_text(seconds), seconds / base::kDay, {}}; }

std::string verdict(const Purchase& p, std::size_t i) {
  const PurchaseRow& row = p.rows[i];
  if (!row.looked_at) return "not looked at";
  if (!row.refused.empty()) return "refused";
  if (!row.fits) return "no strategy fits";
  if (p.recommended == i) return "recommended";
  const std::string missed = limits_missed(row);
  return missed.empty() ? "will do" : missed;
}

/// The limit where it is among the candidates or near them; 0: not drawn.
double drawn_limit(const Purchase& p, const std::optional<double>& limit, double PurchaseRow::*high) {
  double most = 0;
  for (const PurchaseRow& row : p.rows) {
    if (row.known()) most = std::max(most, row.*high);
  }
  return limit && *limit <= kNear * most ? *limit : 0;
}

Json front_of(const Purchase& p) {
  std::vector<const PurchaseRow*> front;
  for (const PurchaseRow& row : p.rows) {
    if (row.known() && row.on_front) front.push_back(&row);
  }
  std::sort(front.begin(), front.end(), [](const auto* a, const auto* b) { return a->time_s < b->time_s; });
  Json out = Json::array();
  for (const PurchaseRow* row : front) out.push_back({{"days", row->time_s / base::kDay}, {"cost", row->cost}});
  return out;
}

Table points(const Purchase& p) {
  Table table{"Days and cost with their 80 % intervals",
              {{"label", "Candidate"},
               {"kind", "Verdict"},
               {"front", "front", false, false},
               {"days", "Time", true},
               {"days_low", "From", true},
               {"days_high", "To", true},
               {"cost", "Cost", true},
               {"cost_low", "From", true},
               {"cost_high", "To", true}},
              {}};
  for (std::size_t i = 0; i < p.rows.size(); ++i) {
    const PurchaseRow& row = p.rows[i];
    if (!row.known()) continue;
    table.rows.push_back({text(row.candidate), text(verdict(p, i)), text(row.on_front ? "yes" : "no"),
                          duration(row.time_s), duration(row.time_low_s), duration(row.time_high_s),
                          money_cell(row.cost), money_cell(row.cost_low), money_cell(row.cost_high)});
  }
  return table;
}

Cell verdict_cell(const Purchase& p, std::size_t i) {
  const std::string words = verdict(p, i);
  return {words, std::nullopt, words == "recommended" ? "good" : words == "will do" ? "" : "bad"};
}

std::vector<Cell> known_cells(const PurchaseRow& row) {
  Cell range{fmt::format("{:.1f} to {:.1f}", row.time_low_s / base::kDay, row.time_high_s / base::kDay),
             row.time_high_s / base::kDay,
             {}};
  Cell cost_range{reports::money(row.cost_low) + " to " + reports::money(row.cost_high), row.cost_high, {}};
  return {decimal(row.time_s / base::kDay, 1),
          std::move(range),
          money_cell(row.cost),
          std::move(cost_range),
          row.chance_in_time ? share(*row.chance_in_time) : none(),
          row.energy_j > 0 ? Cell{megawatt_hours(row.energy_j), row.energy_j / base::kKilowattHour / 1e3, {}} : none(),
          millions(row.tokens_per_dollar),
          share(row.goodput.goodput),
          text(row.on_front ? "yes" : "no")};
}

std::string note_of(const Purchase& p, const PurchaseRow& row) {
  if (row.has_nearest()) return shortfall_words(row.prediction);
  return row.refused.empty() ? fmt::format("{}", fmt::join(cautions(p, row), ", ")) : row.refused;
}

}  // namespace

std::string days_and_cost_section(const Purchase& p) {
  return figure({"days_cost",
                 "Days against cost.",
                 "Towards the lower left is better; bars are 80 % intervals, the line joins those of which none is "
                 "faster and cheaper. Dashed: deadline and budget.",
                 points(p),
                 {{"deadline", drawn_limit(p, p.deadline_s, &PurchaseRow::time_high_s) / base::kDay},
                  {"budget", drawn_limit(p, p.budget, &PurchaseRow::cost_high)}},
                 {{"front", front_of(p)}},
                 true});
}

std::string candidates_section(const Purchase& p) {
  Table table{"Candidates in the plan's order; intervals hold 80 % of the runs and sort by their upper end",
              {{"candidate", "Candidate"},
               {"verdict", "Verdict"},
               {"gpus", "GPUs", true},
               {"spares", "Spares", true},
               {"days", "Days", true},
               {"days_range", "80 %", true},
               {"cost", "Cost", true},
               {"cost_range", "80 %", true},
               {"chance", "In time", true},
               {"energy", "MWh", true},
               {"tokens", "M tokens/$", true},
               {"goodput", "Goodput", true},
               {"front", "Front"}},
              {}};
  const bool noted = std::ranges::any_of(p.rows, [&](const PurchaseRow& row) { return !note_of(p, row).empty(); });
  if (noted) table.columns.push_back({"note", "To know"});
  for (std::size_t i = 0; i < p.rows.size(); ++i) {
    const PurchaseRow& row = p.rows[i];
    std::vector<Cell> cells{text(row.candidate), verdict_cell(p, i), count(row.gpus),
                            row.known() ? count(row.spares) : none()};
    const std::vector<Cell> figures = row.known() ? known_cells(row) : std::vector<Cell>(9, none());
    cells.insert(cells.end(), figures.begin(), figures.end());
    if (noted) cells.push_back(text(note_of(p, row)));
    table.rows.push_back(std::move(cells));
  }
  const bool tight = std::ranges::any_of(p.rows, &PurchaseRow::tight);
  return html_of(table, true) + (tight ? paragraph_of(tight_words() + '.') : "");
}

}  // namespace reports::html
