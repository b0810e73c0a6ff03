// SPDX-License-Identifier: Apache-2.0
#include "reports/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/base/text.h"
#include "reports/layout.h"
#include "reports/quantity.h"
#include "reports/shortfall.h"
#include "reports/strategy_words.h"
#include "reports/table.h"
#include "reports/tight.h"

namespace reports {
namespace {

using result::Search;
using result::SearchRow;

constexpr double kWorthShowing = 0.85;  // of the memory of the one above: the front has many that are hardly smaller

std::string counted(std::int64_t value) { return base::with_commas(value); }

/// What a search cannot choose may still make it fit: keys that are fixed, and those that are left out.
std::string nearest_text(const Search& s, const Style& style) {
  if (!s.nearest) return "";
  const result::Prediction& p = s.nearest->prediction;
  std::string told = strategy_words(s.nearest->strategy) + ": " + shortfall_words(p) + '.';
  if (!p.attack.empty()) told += " Attack " + spaced(p.attack) + '.';
  if (p.mends.empty()) told += " No change that forerun predict tries makes it fit.";
  return '\n' + paragraph("Nearest comes ", told, style.columns) +
         mend_lines(p, "    it fits with ", "              or ", style.columns) +
         (s.nodes_that_fit ? fmt::format("Strategies fit from {0} nodes on (--nodes {0}).\n", *s.nodes_that_fit) : "");
}

std::string results_text(const Search& s, const Style& style) {
  if (s.results.empty()) {
    return inked(s.complete ? "Nothing fits." : "Nothing that fits was found so far.", Ink::red, style) + '\n' +
           nearest_text(s, style);
  }
  using enum Column::Kind;
  const bool any_tight = std::ranges::any_of(s.results, &SearchRow::tight);
  std::vector<Column> columns{{"", number, 5},        {pace_name(s.results.front().prediction), number, 11},
                              {"of best", number, 9}, {"MFU", number, 9},
                              {"peak", number, 10},   {"of GPU", number, 8}};
  if (any_tight) columns.push_back({"", number, 6});
  columns.push_back({"", text, 0, 2});
  Table table(0, std::move(columns));
  const double best = pace_s(s.results.front().prediction);
  int rank = 0;
  for (const SearchRow& row : s.results) {
    const result::Prediction& p = row.prediction;
    ++rank;
    const bool first = row.tied || rank == 1;
    std::vector<Cell> cells{
        fmt::format("{}{}", rank, first ? '=' : ' '),
        base::human(base::Seconds(pace_s(p))),
        fmt::format("x{:.3f}", pace_s(p) / best),
        percent(p.mfu),
        bytes(p.peak_bytes),
        fmt::format("{:.0f}%", 100.0 * static_cast<double>(p.peak_bytes) / static_cast<double>(p.capacity_bytes))};
    if (any_tight) cells.emplace_back(row.tight ? kTightMark : "");
    if (first) {
      for (Cell& cell : cells) cell.ink = Ink::green;
    }
    if (row.tight) cells.back().ink = Ink::yellow;
    cells.emplace_back(strategy_words(row.strategy));
    table.add(std::move(cells));
  }
  const std::string pace = pace_name(s.results.front().prediction);
  const bool of_tokens = s.by == "step_time" && pace != "step time";
  return fmt::format("Best first, by {}\n\n", of_tokens ? pace : s.by) + table.text(style) +
         (any_tight ? '\n' + paragraph("", tight_words(), style.columns) : "");
}

std::string ties_text(const Search& s, const Style& style) {
  const auto ties = std::count_if(s.results.begin(), s.results.end(), [](const SearchRow& row) { return row.tied; });
  if (s.results.size() < 2) return "";
  if (ties == 0) return "\nThe first leads by more than the error.\n";
  const bool all = static_cast<std::size_t>(ties) + 1 == s.results.size();
  return '\n' + paragraph("",
                          fmt::format("These {} (=) are within the error of one another{}.", ties + 1,
                                      all ? ", and so may be others: --top shows more" : ""),
                          style.columns);
}

std::string front_text(const Search& s, const Style& style) {
  if (s.pareto.size() < 2) return "";
  std::string out = "\nTime against memory: no strategy takes less of both\n";
  std::size_t between = 0;
  std::int64_t shown = 0;
  for (const result::SearchTrade& t : s.pareto) {
    const bool last = &t == &s.pareto.back();
    if (shown > 0 && !last && static_cast<double>(t.peak_bytes) > kWorthShowing * static_cast<double>(shown)) {
      ++between;
      continue;
    }
    shown = t.peak_bytes;
    out += paragraph(fmt::format("      {:>10}{:>10}  ", base::human(base::Seconds(t.pace_s)), bytes(t.peak_bytes)),
                     strategy_words(t.strategy), style.columns);
  }
  if (between > 0) {
    out += paragraph("      ",
                     fmt::format("and {} between these, a little smaller than the one above (--json -)", between),
                     style.columns);
  }
  return out;
}

std::string money_text(const Search& s, const Style& style) {
  if (s.results.empty()) return "";
  const SearchRow& best = s.results.front();
  std::string out;
  if (best.cost_per_million_tokens > 0) {
    out += '\n' +
           paragraph("",
                     fmt::format("The first: {:.4g} for a million tokens, in the currency of --price for a GPU-hour.",
                                 best.cost_per_million_tokens),
                     style.columns);
  }
  if (s.by == "energy" && best.energy_per_step_j > 0) {
    out += '\n' + paragraph("",
                            fmt::format("The first: {:.4g} kWh a step, all nodes at their rated power throughout.",
                                        best.energy_per_step_j / 3.6e6),
                            style.columns);
  }
  return out;
}

std::string looked_at(const Search& s, const Style& style) {
  std::string told = fmt::format(
      "Looked at {} sound strategies in {:.2f} s, {} a second: {} do not fit, {} are proved worse by a bound, {}{} "
      "were "
      "priced.",
      counted(s.evaluated), s.elapsed_s,
      counted(static_cast<std::int64_t>(static_cast<double>(s.evaluated) / std::max(s.elapsed_s, 1e-9))),
      counted(s.evaluated - s.priced - s.bounded - s.unwanted), counted(s.bounded), unwanted_words(s.unwanted),
      counted(s.priced));
  std::string out = '\n' + paragraph("", told, style.columns);
  if (s.operator_level > 0)
    out += paragraph(
        "", fmt::format("Of these {} at operator level: two levels cannot tell them.", counted(s.operator_level)),
        style.columns);
  if (!s.complete && s.results.empty()) out += "Interrupted: the rest was not looked at.\n";
  if (!s.complete && !s.results.empty()) out += "Interrupted: the best of what was looked at so far.\n";
  for (const result::SearchedKey& key : s.space) {
    if (key.given || key.values.size() < 2) continue;
    std::string values;
    for (const auto& [value, count] : key.values) {
      values += fmt::format("{}{} ({})", values.empty() ? "" : ", ", value, counted(count));
    }
    out += paragraph(fmt::format("  {:<18}  ", key.key), values, style.columns);
  }
  if (!s.left_out.empty()) out += "\nNot searched unless asked for\n";
  for (const auto& [key, what] : s.left_out) out += paragraph(fmt::format("  {:<18}  ", key), what, style.columns);
  return out;
}

}  // namespace

std::string unwanted_words(std::int64_t unwanted) {
  if (unwanted == 0) return "";
  return counted(unwanted) + " the framework's launcher cannot say, ";
}

std::string text(const Search& s, const Style& style) {
  std::string out = paragraph("", s.job, style.columns) + '\n' + results_text(s, style) + ties_text(s, style) +
                    money_text(s, style) + front_text(s, style) + looked_at(s, style);
  std::vector<std::string> warnings;
  for (const auto& row : s.results) {
    warnings.insert(warnings.end(), row.prediction.warnings.begin(), row.prediction.warnings.end());
  }
  out += warnings_text(std::move(warnings), style.columns);
  for (const std::string& note : s.notes) out += '\n' + paragraph("", note, style.columns);
  return out;
}

}  // namespace reports
