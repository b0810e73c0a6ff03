// SPDX-License-Identifier: Apache-2.0
#include "reports/purchase.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/money.h"
#include "core/base/text.h"
#include "reports/layout.h"
#include "reports/quantity.h"
#include "reports/shortfall.h"
#include "reports/strategy_words.h"
#include "reports/table.h"
#include "reports/tight.h"

namespace reports {
namespace {

using result::Goodput;
using result::Purchase;
using result::PurchaseRow;

std::string span(double seconds) { return base::human(base::s(seconds)); }

std::string tokens_text(double tokens) {
  if (tokens >= 1e12) return fmt::format("{:.4g}T", tokens / 1e12);
  if (tokens >= 1e9) return fmt::format("{:.4g}B", tokens / 1e9);
  if (tokens >= 1e6) return fmt::format("{:.4g}M", tokens / 1e6);
  return fmt::format("{:.0f}k", tokens / 1e3);
}

std::string title(const Purchase& p, const Style& style) {
  return paragraph("", with_limits(p.model + ", " + tokens_text(p.tokens) + " tokens", p), style.columns) + '\n';
}

int longest_name(const Purchase& p) {
  int width = 0;
  for (const PurchaseRow& row : p.rows) width = std::max(width, columns(row.candidate));
  return width;
}

int name_columns(const Purchase& p) { return std::max(10, longest_name(p)); }

std::string verdict(const Purchase& p, const PurchaseRow& row) {
  std::vector<std::string> out = cautions(p, row);
  if (const std::string missed = limits_missed(row); !missed.empty()) out.insert(out.begin(), missed);
  return fmt::format("{}", fmt::join(out, ", "));
}

void add(const Purchase& p, std::size_t i, int width, Table& table, const Style& style) {
  const PurchaseRow& row = p.rows[i];
  const std::string name = std::string(p.recommended == i ? ">" : " ") + (row.on_front ? "* " : "  ") + row.candidate;
  if (!row.refused.empty()) {
    return table.add_lines(paragraph(fmt::format("{:<{}}  ", name, width + 3),
                                     (row.looked_at ? "refused: " : "") + row.refused, style.columns));
  }
  if (!row.fits) {
    const std::string lacks = row.has_nearest() ? ": " + shortfall_words(row.prediction) : "";
    return table.add_lines(
        paragraph(fmt::format("{:<{}}  ", name, width + 3), "no strategy fits" + lacks, style.columns));
  }
  const auto days = [](double seconds) { return fmt::format("{:.1f}", seconds / base::kDay); };
  std::vector<Cell> cells{fmt::format("{:<{}}", name, width + 3),
                          base::with_commas(row.gpus),
                          days(row.time_s),
                          days(row.time_low_s) + " to " + days(row.time_high_s),
                          money(row.cost),
                          money(row.cost_low) + " to " + money(row.cost_high),
                          row.energy_j > 0 ? megawatt_hours(row.energy_j) : "-",
                          tokens_text(row.tokens_per_dollar),
                          percent(row.goodput.goodput),
                          verdict(p, row)};
  if (p.recommended == i) {
    for (Cell& cell : cells) cell.ink = Ink::green;
  }
  table.add(std::move(cells));
}

bool any_known(const Purchase& p) { return std::ranges::any_of(p.rows, &PurchaseRow::known); }

std::string table(const Purchase& p, const Style& style) {
  using enum Column::Kind;
  const int width = longest_name(p);
  std::vector<Column> titles{{"", number, width + 3},  // padded: a text would be broken where the others need its room
                             {"GPUs", number, 6},     {"days", number, 9},           {"80 %", number, 16, 1, true},
                             {"cost", number, 9},     {"80 %", number, 19, 1, true}, {"MWh", number, 8},
                             {"tokens/$", number, 9}, {"goodput", number, 9},        {"", text, 0, 2}};
  if (!any_known(p)) titles.clear();  // they would stand above reasons alone
  Table rows(0, std::move(titles));
  for (std::size_t i = 0; i < p.rows.size(); ++i) add(p, i, width, rows, style);
  if (!any_known(p)) return rows.text(style);
  return rows.text(style) +
         paragraph("   ", "> recommended; * on the front: none is faster and cheaper", style.columns) +
         (std::ranges::any_of(p.rows, &PurchaseRow::tight) ? paragraph("   ", tight_words(), style.columns) : "");
}

std::string strategies(const Purchase& p, const Style& style) {
  if (!any_known(p)) return "";
  std::string out = "\nBest strategies\n";
  const int width = name_columns(p);
  for (const PurchaseRow& row : p.rows) {
    if (!row.known()) continue;
    const result::Prediction& s = row.prediction;
    out += paragraph(fmt::format("   {:<{}}  ", row.candidate, width),
                     fmt::format("step {} ({} to {}), MFU {}: {}", span(s.step_time_s), span(s.step_time_low_s),
                                 span(s.step_time_high_s), percent(s.mfu), strategy_words(row.strategy)),
                     style.columns);
  }
  return out;
}

std::string goodput_text(const PurchaseRow& row) {
  const Goodput& g = row.goodput;
  std::string out = fmt::format(
      "a failure every {}; {} spare node{}; checkpoints of {} in {} every {} steps ({}); lost {}, down {}, checkpoints "
      "{}",
      days_text(g.mtbf_s), row.spares, row.spares == 1 ? "" : "s", base::human(base::Bytes(g.checkpoint_bytes)),
      span(g.checkpoint_s), base::with_commas(g.interval_steps), days_text(g.interval_s), percent(g.lost),
      percent(g.down), percent(g.checkpoints));
  if (g.slow > 0) out += ", stragglers " + percent(g.slow);
  if (g.written_beside_s > 0) out += fmt::format("; written beside training in {}", span(g.written_beside_s));
  if (g.closed_form)
    out += fmt::format("; closed form {:.2f} %, simulated {:.2f} %", *g.closed_form * 100, g.simulated * 100);
  return out;
}

std::string failures(const Purchase& p, const Style& style) {
  if (!any_known(p)) return "";
  std::string out = "\nFailures\n";
  const int width = name_columns(p);
  for (const PurchaseRow& row : p.rows) {
    if (row.known())
      out += paragraph(fmt::format("   {:<{}}  ", row.candidate, width), goodput_text(row), style.columns);
  }
  return out;
}

std::string break_even(const Purchase& p, const Style& style) {
  if (p.break_even.empty()) return "";
  std::string out = "\nRent against buy\n";
  for (const result::BreakEven& b : p.break_even) {
    const std::string terms =
        fmt::format("rent {} a GPU, price {} a node: ", base::human(base::usd_per_hour(b.rent)), money(b.price));
    const std::string when = b.hours > 0
                                 ? fmt::format("buying pays from {:.0f} hours of use ({:.2f} years), {} of its life",
                                               b.hours, b.hours / 8760, percent(b.hours / b.life_hours))
                                 : "buying never pays: rent is below the electricity";
    out += paragraph("   " + b.of + "  ", terms + when, style.columns);
  }
  return out;
}

std::string figures(const Purchase& p, const Style& style) {
  std::string out = "\nFigures, and who says so\n";
  for (const result::PurchaseFigure& f : p.figures) {
    out += paragraph(fmt::format("   {:<24}{:>12}  ", figure_name(p, f.what), f.value),
                     (f.date.empty() ? "" : f.date + ", ") + f.source, style.columns);
  }
  return out;
}

std::string assumptions(const Purchase& p, const Style& style) {
  std::string out = "\nAssumed where the plan says nothing\n";
  for (const std::string& one : p.assumptions) out += paragraph("   - ", one, style.columns);
  return out + "   - nodes at their rated power throughout\n";
}

}  // namespace

std::string text(const Purchase& p, const Style& style) {
  std::string out = title(p, style) + table(p, style) + '\n';
  if (!p.complete) out += "Interrupted: the best of the strategies that were looked at.\n\n";
  out += recommendation(p, style.columns);
  if (p.recommended) out += warnings_text(p.rows[*p.recommended].prediction.warnings, style.columns);
  for (const std::string& note : p.notes) out += '\n' + paragraph("", note, style.columns);
  if (const std::string flips = flips_text(p, style.columns); !flips.empty()) out += "\nWhat would change it\n" + flips;
  return out + break_even(p, style) + strategies(p, style) + failures(p, style) + figures(p, style) +
         assumptions(p, style) +
         fmt::format("\n{} simulated runs of each candidate, seed {}.\n", base::with_commas(p.runs), p.seed);
}

}  // namespace reports
