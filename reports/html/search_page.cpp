// SPDX-License-Identifier: Apache-2.0
#include "reports/html/search_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/base/text.h"
#include "reports/html/charts.h"
#include "reports/html/page.h"
#include "reports/html/trade_off.h"
#include "reports/quantity.h"
#include "reports/search.h"
#include "reports/shortfall.h"
#include "reports/strategy_words.h"
#include "reports/tight.h"

namespace reports {
namespace {

using html::Cell;
using html::Table;
using result::Prediction;
using result::Search;
using result::SearchRow;

std::string nearest(const Search& s) {
  if (!s.nearest) return "";
  const std::vector<std::string> mends = mend_words(s.nearest->prediction);
  return fmt::format(" Nearest comes {}: {}.{}{}", strategy_words(s.nearest->strategy),
                     shortfall_words(s.nearest->prediction),
                     mends.empty() ? "" : fmt::format(" It fits with {}.", fmt::join(mends, " or ")),
                     s.nodes_that_fit ? fmt::format(" Strategies fit from {} nodes on.", *s.nodes_that_fit) : "");
}

std::string answer(const Search& s) {
  if (s.results.empty())
    return fmt::format("{}: {} strategies were looked at.{}",
                       s.complete ? "Nothing fits" : "Nothing that fits was found so far",
                       base::with_commas(s.evaluated), nearest(s));
  const Prediction& best = s.results.front().prediction;
  const auto tied = std::count_if(s.results.begin(), s.results.end(), [](const SearchRow& row) { return row.tied; });
  std::string out =
      fmt::format("Best by {}: {}. {} takes {} (80 % interval {} to {})", spaced(s.by),
                  strategy_words(s.results.front().strategy), best.time_per_output_token_s ? "A token" : "A step",
                  human(pace_s(best), "s"), human(pace_low_s(best), "s"), human(pace_high_s(best), "s"));
  out += tied > 0               ? fmt::format("; {} more are within the error of it.", tied)
         : s.results.size() > 1 ? "; it leads by more than the error."
                                : ".";
  return s.complete ? out : out + " The search was interrupted.";
}

std::vector<html::KeyFigure> key_figures(const Search& s) {
  std::vector<html::KeyFigure> out;
  if (!s.results.empty()) {
    const SearchRow& best = s.results.front();
    const Prediction& p = best.prediction;
    out.push_back({p.time_per_output_token_s ? "Each token" : "Step time", human(pace_s(p), "s"),
                   human(pace_low_s(p), "s") + " to " + human(pace_high_s(p), "s")});
    out.push_back({"Model FLOPs", fmt::format("{:.1f} % MFU", p.mfu * 100),
                   fmt::format("{:.0f} TFLOP/s per GPU", p.model_tflops_per_gpu)});
    out.push_back({"Memory", human(static_cast<double>(p.peak_bytes), "B"),
                   "of " + human(static_cast<double>(p.capacity_bytes), "B")});
    if (best.cost_per_million_tokens > 0)
      out.push_back(
          {"Cost", fmt::format("{:.4g}", best.cost_per_million_tokens), "for a million tokens, at the price given"});
    if (best.energy_per_step_j > 0)
      out.push_back(
          {"Energy", fmt::format("{:.3g} kWh", best.energy_per_step_j / 3.6e6), "a step, nodes at rated power"});
  }
  out.push_back({"Looked at", base::with_commas(s.evaluated), fmt::format("strategies in {:.2f} s", s.elapsed_s)});
  return out;
}

/// Keys whose value is not the same in all results.
std::vector<std::string> keys_that_differ(const Search& s) {
  std::vector<std::string> out;
  for (const SearchRow& row : s.results) {
    for (const auto& [key, value] : row.strategy) {
      if (value_of(s.results.front().strategy, key) == value || std::find(out.begin(), out.end(), key) != out.end())
        continue;
      out.push_back(key);
    }
  }
  return out;
}

std::string results(const Search& s) {
  if (s.results.empty()) return "";
  Table table{"Strategies, best first", {{"rank", "Rank", true}}, {}};
  const Prediction& best = s.results.front().prediction;
  const std::vector<std::string> keys = keys_that_differ(s);
  for (const std::string& key : keys) table.columns.push_back({key, key});
  for (const html::Column& column :
       std::vector<html::Column>{{"time", best.time_per_output_token_s ? "Each token" : "Step time", true},
                                 {"of_best", "Times the first", true},
                                 {"tied", "Within the error"},
                                 {"mfu", "MFU", true},
                                 {"peak", "Peak memory", true},
                                 {"of_gpu", "Of the GPU", true},
                                 {"tight", "Tight"},
                                 {"strategy", "Strategy"}}) {
    table.columns.push_back(column);
  }
  int rank = 0;
  for (const SearchRow& row : s.results) {
    const Prediction& p = row.prediction;
    const double peak = static_cast<double>(p.peak_bytes),
                 capacity = static_cast<double>(std::max<std::int64_t>(1, p.capacity_bytes));
    std::vector<Cell> cells{html::count(++rank)};
    for (const std::string& key : keys) cells.push_back(html::text(value_of(row.strategy, key)));
    for (Cell& cell :
         std::vector<Cell>{html::quantity(pace_s(p), "s"), html::decimal(pace_s(p) / pace_s(best), 3),
                           html::text(row.tied || rank == 1 ? "yes" : "no"), html::share(p.mfu),
                           html::quantity(peak, "B"), html::share(peak / capacity),
                           html::text(row.tight ? "yes" : "no"), html::text(strategy_words(row.strategy))}) {
      cells.push_back(std::move(cell));
    }
    table.rows.push_back(std::move(cells));
  }
  const bool tight = std::ranges::any_of(s.results, &SearchRow::tight);
  return html::html_of(table, true) + (tight ? html::paragraph_of(tight_words() + '.') : "");
}

std::string looked_at(const Search& s) {
  Table table{"Values looked at, and of how many strategies each is",
              {{"key", "Key"}, {"value", "Value"}, {"count", "Strategies", true}},
              {}};
  for (const result::SearchedKey& key : s.space) {
    if (key.given || key.values.size() < 2) continue;
    for (const auto& [value, count] : key.values)
      table.rows.push_back({html::text(key.key), html::text(value), html::count(count)});
  }
  std::string out = html::paragraph_of(
      fmt::format("{} sound strategies: {} do not fit, {} are proved worse by a bound, {}{} were priced.",
                  base::with_commas(s.evaluated), base::with_commas(s.evaluated - s.priced - s.bounded - s.unwanted),
                  base::with_commas(s.bounded), unwanted_words(s.unwanted), base::with_commas(s.priced)));
  if (!table.rows.empty()) out += html::html_of(table, true);
  std::vector<std::string> left_out;
  for (const auto& [key, what] : s.left_out) left_out.push_back(key + ": " + what);
  if (!left_out.empty()) out += "<h3>Not searched unless asked for</h3>" + html::list_of(left_out);
  return out;
}

}  // namespace

namespace html {

Chart trade_off_chart(const Search& s) {
  TradeOff out;
  for (const result::SearchTrade& trade : s.pareto)
    out.points.push_back({strategy_words(trade.strategy), "front", trade.pace_s, trade.peak_bytes, true});
  for (const SearchRow& row : s.results) {
    out.points.push_back(
        {strategy_words(row.strategy), "shown above", pace_s(row.prediction), row.prediction.peak_bytes, true});
    out.capacity_bytes = row.prediction.capacity_bytes;
  }
  return chart_of(out);
}

}  // namespace html

void write_html(const Search& s, const std::string& version, std::ostream& out) {
  html::Page page{"search", s.job, answer(s), s.results.empty(), key_figures(s), {}, version};
  page.sections = {{"results", "The best strategies", results(s)},
                   {"trade-off", "Time against memory", html::figure(html::trade_off_chart(s))},
                   {"looked-at", "What was looked at", looked_at(s)},
                   {"notes", "To know", html::list_of(s.notes)}};
  html::write(page, out);
}

}  // namespace reports
