// What a purchase plan's answer rests on: the strategies, the failures, and every price and rate with its date and
// source. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/text.h"
#include "reports/html/chart.h"
#include "reports/html/page.h"
#include "reports/html/purchase_sections.h"
#include "reports/purchase.h"
#include "reports/strategy_words.h"

namespace reports::html {
namespace {

using result::Goodput;
using result::Purchase;
using result::PurchaseRow;

Cell duration_cell(double seconds) { return {days_text(seconds), seconds, {}}; }

std::string lost_time(const Purchase& p) {
  constexpr std::array<std::pair<const char*, double Goodput::*>, 4> kParts{{{"lost work", &Goodput::lost},
                                                                             {"down", &Goodput::down},
                                                                             {"checkpoints", &Goodput::checkpoints},
                                                                             {"stragglers", &Goodput::slow}}};
  Table table{"Share of the time that is no training",
              {{"label", "Candidate"}, {"kind", "Spent on"}, {"value", "Share", true}},
              {}};
  for (const PurchaseRow& row : p.rows) {
    if (!row.known()) continue;
    for (const auto& [name, part] : kParts) {
      if (row.goodput.*part > 0) table.rows.push_back({text(row.candidate), text(name), share(row.goodput.*part)});
    }
  }
  return figure({"stacked",
                 "What failures take.",
                 "Lost work is done again from the last checkpoint; down is until nodes work again.",
                 table,
                 {{"x_title", "share of the whole time"}, {"x_format", "%"}},
                 {},
                 true});
}

std::string failures_table(const Purchase& p) {
  Table table{"Failures and checkpoints of a run",
              {{"candidate", "Candidate"},
               {"mtbf", "A failure every", true},
               {"failures", "Failures", true},
               {"size", "Checkpoint", true},
               {"takes", "Takes", true},
               {"every", "Every", true},
               {"lost", "Lost work", true},
               {"down", "Down", true},
               {"checkpoints", "Checkpoints", true},
               {"slow", "Stragglers", true},
               {"goodput", "Goodput", true}},
              {}};
  for (const PurchaseRow& row : p.rows) {
    if (!row.known()) continue;
    const Goodput& g = row.goodput;
    table.rows.push_back({text(row.candidate), duration_cell(g.mtbf_s), decimal(g.failures, 2),
                          quantity(g.checkpoint_bytes, "B"), quantity(g.checkpoint_s, "s"), duration_cell(g.interval_s),
                          share(g.lost), share(g.down), share(g.checkpoints), share(g.slow), share(g.goodput)});
  }
  return table.rows.empty() ? "" : html_of(table, true);
}

}  // namespace

std::string strategies_section(const Purchase& p) {
  Table table{"The best strategy of each candidate",
              {{"candidate", "Candidate"},
               {"step", "Step time", true},
               {"low", "From", true},
               {"high", "To", true},
               {"mfu", "MFU", true},
               {"strategy", "Strategy"}},
              {}};
  for (const PurchaseRow& row : p.rows) {
    if (!row.known()) continue;
    const result::Prediction& step = row.prediction;
    table.rows.push_back({text(row.candidate), quantity(step.step_time_s, "s"), quantity(step.step_time_low_s, "s"),
                          quantity(step.step_time_high_s, "s"), share(step.mfu), text(strategy_words(row.strategy))});
  }
  return table.rows.empty() ? "" : html_of(table, true);
}

std::string failures_section(const Purchase& p) {
  const std::string table = failures_table(p);
  if (table.empty()) return "";
  return lost_time(p) + table +
         paragraph_of(fmt::format("{} simulated runs of each candidate, seed {}.", base::with_commas(p.runs), p.seed));
}

std::string figures_section(const Purchase& p) {
  Table table{"Every figure that the answer uses",
              {{"what", "Figure"}, {"value", "Value"}, {"date", "Date"}, {"source", "Source"}},
              {}};
  for (const result::PurchaseFigure& f : p.figures) {
    table.rows.push_back(
        {text(figure_name(p, f.what)), text(f.value), f.date.empty() ? none() : text(f.date), text(f.source)});
  }
  return table.rows.empty() ? "" : html_of(table, true);
}

std::string assumptions_section(const Purchase& p) {
  std::vector<std::string> assumed = p.assumptions, warnings;
  assumed.push_back("nodes at their rated power throughout");
  for (const PurchaseRow& row : p.rows) {
    if (!row.known()) continue;
    for (const std::string& warning : row.prediction.warnings) warnings.push_back(row.candidate + ": " + warning);
  }
  return list_of(assumed) + (warnings.empty() ? "" : "<h3>Warnings</h3>" + list_of(warnings));
}

}  // namespace reports::html
