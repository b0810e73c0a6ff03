// SPDX-License-Identifier: Apache-2.0
#include "reports/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/base/text.h"
#include "reports/layout.h"
#include "reports/strategy_words.h"

namespace reports {
namespace {

using result::Search;
using result::SearchRow;

std::string bytes(std::int64_t value) { return base::human(base::Bytes(static_cast<double>(value))); }
std::string counted(std::int64_t value) { return base::with_commas(value); }

std::string results_text(const Search& s, const Style& style) {
  if (s.results.empty()) return inked("Nothing fits.", Ink::red, style) + '\n';
  std::string out = fmt::format("Best first, by {}\n\n{:>4}  {:>10}{:>9}{:>9}{:>10}{:>8}\n", s.by, "", "step time",
                                "of best", "MFU", "peak", "of GPU");
  const double best = s.results.front().prediction.step_time_s;
  int rank = 0;
  for (const SearchRow& row : s.results) {
    const result::Prediction& p = row.prediction;
    ++rank;
    std::string figures = fmt::format(
        "{:>4}{} {:>10}{:>9}{:>9}{:>10}{:>7.0f}%  ", rank, row.tied || rank == 1 ? '=' : ' ',
        base::human(base::Seconds(p.step_time_s)), fmt::format("x{:.3f}", p.step_time_s / best), percent(p.mfu),
        bytes(p.peak_bytes), 100.0 * static_cast<double>(p.peak_bytes) / static_cast<double>(p.capacity_bytes));
    if (row.tied || rank == 1) figures = inked(figures, Ink::green, style);
    out += figures + strategy_words(row.strategy) + '\n';
  }
  return out;
}

std::string ties_text(const Search& s) {
  const auto ties = std::count_if(s.results.begin(), s.results.end(), [](const SearchRow& row) { return row.tied; });
  if (s.results.size() < 2) return "";
  if (ties == 0) return "\nThe first leads by more than the error.\n";
  const bool all = static_cast<std::size_t>(ties) + 1 == s.results.size();
  return fmt::format("\nThese {} (=) are within the error of one another{}.\n", ties + 1,
                     all ? ", and so may be others: --top shows more" : "");
}

std::string front_text(const Search& s, const Style& style) {
  if (s.pareto.size() < 2) return "";
  std::string out = "\nTime against memory: no strategy takes less of both\n";
  for (const result::SearchTrade& t : s.pareto) {
    out +=
        paragraph(fmt::format("      {:>10}{:>10}  ", base::human(base::Seconds(t.step_time_s)), bytes(t.peak_bytes)),
                  strategy_words(t.strategy), style.columns);
  }
  return out;
}

std::string money_text(const Search& s) {
  if (s.results.empty()) return "";
  const SearchRow& best = s.results.front();
  std::string out;
  if (best.cost_per_million_tokens > 0) {
    out += fmt::format("\nThe first: {:.4g} for a million tokens at the given price of a GPU-hour.\n",
                       best.cost_per_million_tokens);
  }
  if (s.by == "energy" && best.energy_per_step_j > 0) {
    out += fmt::format("\nThe first: {:.4g} kWh a step, all nodes at their rated power throughout.\n",
                       best.energy_per_step_j / 3.6e6);
  }
  return out;
}

std::string looked_at(const Search& s, const Style& style) {
  std::string out = fmt::format(
      "\nLooked at {} sound strategies in {:.2f} s, {} a second: {} do not fit, {} are proved worse by a bound, {} "
      "were "
      "priced.\n",
      counted(s.evaluated), s.elapsed_s,
      counted(static_cast<std::int64_t>(static_cast<double>(s.evaluated) / std::max(s.elapsed_s, 1e-9))),
      counted(s.evaluated - s.priced - s.bounded), counted(s.bounded), counted(s.priced));
  if (s.operator_level > 0)
    out += fmt::format("Of these {} at operator level: two levels cannot tell them.\n", counted(s.operator_level));
  if (!s.complete) out += "Interrupted: the best of what was looked at so far.\n";
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

std::string text(const Search& s, const Style& style) {
  std::string out = s.job + "\n\n" + results_text(s, style) + ties_text(s) + money_text(s) + front_text(s, style) +
                    looked_at(s, style);
  std::vector<std::string> warnings;
  for (const auto& row : s.results) {
    warnings.insert(warnings.end(), row.prediction.warnings.begin(), row.prediction.warnings.end());
  }
  out += warnings_text(std::move(warnings), style.columns);
  for (const std::string& note : s.notes) out += '\n' + paragraph("", note, style.columns);
  return out;
}

}  // namespace reports
