// SPDX-License-Identifier: Apache-2.0
#include "reports/html/comparison_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <vector>

#include "reports/html/charts.h"
#include "reports/html/page.h"
#include "reports/html/trade_off.h"
#include "reports/quantity.h"
#include "reports/row_names.h"

namespace reports {
namespace {

using html::Cell;
using html::Column;
using html::Table;
using result::Comparison;
using result::ComparisonRow;
using result::Prediction;
using Status = ComparisonRow::Status;

constexpr std::size_t kMostIntervals = 30;

bool several_jobs(const Comparison& c) {
  return std::any_of(c.rows.begin(), c.rows.end(), [&](const auto& row) { return row.job != c.rows.front().job; });
}

std::size_t count_of(const Comparison& c, Status status) {
  return static_cast<std::size_t>(
      std::count_if(c.rows.begin(), c.rows.end(), [&](const auto& row) { return row.status == status; }));
}

std::string answer(const Comparison& c) {
  const std::size_t fits = count_of(c, Status::fits);
  if (fits == 0) return fmt::format("None of {} jobs fits.", c.rows.size());
  const Prediction& best = c.rows.front().prediction;
  std::string out =
      fmt::format("{} is best: {} takes {} (80 % interval {} to {})", what_differs(c.rows.front(), several_jobs(c)),
                  best.time_per_output_token_s ? "a token" : "a step", human(pace_s(best), "s"),
                  human(pace_low_s(best), "s"), human(pace_high_s(best), "s"));
  if (fits > 1) {
    const double next = result::slowdown(c, c.rows[1]);
    out += c.order == Comparison::Order::step_time
               ? fmt::format(", {:.1f} % less than the next", 100 - 100 / next)
               : fmt::format(", with {:.1f} % more {} a second and GPU than the next", 100 * next - 100,
                             result::counted(c));
  }
  return out + fmt::format(". {} of {} jobs fit.", fits, c.rows.size());
}

/// Every varied key of any row, in the order met.
std::vector<std::string> varied_keys(const Comparison& c) {
  std::vector<std::string> out;
  for (const ComparisonRow& row : c.rows) {
    for (const auto& [path, value] : row.varied) {
      if (std::find(out.begin(), out.end(), path) == out.end()) out.push_back(path);
    }
  }
  return out;
}

Cell value_cell(const ComparisonRow& row, const std::string& path) {
  for (const auto& [key, value] : row.varied) {
    if (key != path) continue;
    Cell cell = html::text(value);
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (end != value.c_str() && *end == '\0' && std::isfinite(number)) cell.number = number;  // 16 after 8
    return cell;
  }
  return html::none();
}

std::string told_of(const ComparisonRow& row) {
  if (row.status == Status::refused) return row.refusal;
  return row.status == Status::does_not_fit ? why_it_does_not_fit(row.prediction) : "";
}

void add_figures(const Comparison& c, const ComparisonRow& row, std::vector<Cell>& cells) {
  if (row.status == Status::refused) {
    cells.insert(cells.end(), result::gpus_differ(c) ? 8 : 7, html::none());
    return;
  }
  const Prediction& p = row.prediction;
  const double capacity = static_cast<double>(std::max<std::int64_t>(1, p.capacity_bytes));
  if (result::gpus_differ(c)) cells.push_back(html::count(p.gpus));
  cells.push_back(html::quantity(pace_s(p), "s"));
  cells.push_back(html::decimal(result::slowdown(c, row), 3));
  cells.push_back(html::count(std::llround(p.tokens_per_s_per_gpu)));
  cells.push_back(html::share(p.mfu));
  cells.push_back(html::share(result::exposed_s(p) / p.step_time_s));
  cells.push_back(html::quantity(static_cast<double>(p.peak_bytes), "B"));
  cells.push_back(html::share(static_cast<double>(p.peak_bytes) / capacity));
}

std::string capitalized(std::string words) {
  words.front() = static_cast<char>(std::toupper(words.front()));
  return words;
}

std::string throughput_title(const Comparison& c) { return capitalized(result::counted(c)) + "/s per GPU"; }

std::string table(const Comparison& c) {
  Table out{"All jobs, best first", {{"rank", "Rank", true}}, {}};
  const std::vector<std::string> keys = varied_keys(c);
  const bool jobs = several_jobs(c) || keys.empty();
  if (jobs) out.columns.push_back({"job", "Job"});
  for (const std::string& key : keys) {
    const bool numbers = std::all_of(c.rows.begin(), c.rows.end(),
                                     [&](const auto& row) { return value_cell(row, key).number.has_value(); });
    out.columns.push_back({key, key.starts_with("strategy.") ? key.substr(9) : key, numbers});
  }
  for (const Column& column : std::vector<Column>{{"status", "Status"},
                                                  {"time", capitalized(result::pace_name(c)), true},
                                                  {"of_best", "Times the best", true},
                                                  {"tokens", throughput_title(c), true},
                                                  {"mfu", "MFU", true},
                                                  {"exposed", "Exposed communication", true},
                                                  {"peak", "Peak memory", true},
                                                  {"of_gpu", "Of the GPU", true},
                                                  {"note", "Why"}}) {
    if (column.key == "time" && result::gpus_differ(c)) out.columns.push_back({"gpus", "GPUs", true});
    out.columns.push_back(column);
  }
  int rank = 0;
  for (const ComparisonRow& row : c.rows) {
    std::vector<Cell> cells{html::count(++rank)};
    if (jobs) cells.push_back(html::text(row.job.empty() ? "job" : row.job));
    for (const std::string& key : keys) cells.push_back(value_cell(row, key));
    const bool fits = row.status == Status::fits;
    cells.push_back({fits                            ? "fits"
                     : row.status == Status::refused ? "refused"
                                                     : "does not fit",
                     std::nullopt, fits ? "good" : "bad"});
    add_figures(c, row, cells);
    cells.push_back(html::text(told_of(row)));
    out.rows.push_back(std::move(cells));
  }
  return html::html_of(out, true);
}

std::string warnings(const Comparison& c) {
  std::vector<std::string> out;
  for (const ComparisonRow& row : c.rows) {
    for (const std::string& warning : result::own_warnings(c, row))
      out.push_back(what_differs(row, several_jobs(c)) + ": " + warning);
  }
  return html::list_of(out);
}

}  // namespace

namespace html {

Chart comparison_chart(const Comparison& c) {
  Table out{"Step times with their 80 % intervals",
            {{"label", "Job"},
             {"kind", "Status"},
             {"value", capitalized(result::pace_name(c)), true},
             {"low", "From", true},
             {"high", "To", true}},
            {}};
  for (const ComparisonRow& row : c.rows) {
    if (row.status == Status::refused || out.rows.size() == kMostIntervals) continue;
    const Prediction& p = row.prediction;
    out.rows.push_back({text(what_differs(row, several_jobs(c))),
                        text(row.status == Status::fits ? "fits" : "does not fit"), quantity(pace_s(p), "s"),
                        quantity(pace_low_s(p), "s"), quantity(pace_high_s(p), "s")});
  }
  const std::string shown = out.rows.size() == kMostIntervals ? fmt::format(" The first {}.", kMostIntervals) : "";
  return {"intervals",
          "Step time with its 80 % interval.",
          "Best first. Errors of jobs on one machine are much alike, so their order is surer than "
          "intervals that overlap suggest." +
              shown,
          out,
          {{"x_title", result::pace_name(c)}}};
}

Chart trade_off_chart(const Comparison& c) {
  TradeOff out;
  for (const ComparisonRow& row : c.rows) {
    if (row.status == Status::refused) continue;
    const Prediction& p = row.prediction;
    const bool fits = row.status == Status::fits;
    out.points.push_back(
        {what_differs(row, several_jobs(c)), fits ? "fits" : "does not fit", pace_s(p), p.peak_bytes, fits});
    out.capacity_bytes = std::max(out.capacity_bytes, p.capacity_bytes);
  }
  return chart_of(out);
}

}  // namespace html

void write_html(const Comparison& c, const std::string& version, std::ostream& out) {
  const std::size_t fits = count_of(c, Status::fits);
  const std::string& job = c.rows.front().prediction.job;
  html::Page page{"compare",
                  several_jobs(c) || job.empty()
                      ? fmt::format("{} jobs side by side", c.rows.size())
                      : fmt::format("{} jobs side by side, the best: {}", c.rows.size(), job),
                  answer(c),
                  fits == 0,
                  {},
                  {},
                  version};
  page.sections = {{"order", "In order", html::figure(html::comparison_chart(c))},
                   {"jobs", "All jobs", table(c)},
                   {"trade-off", "Time against memory", html::figure(html::trade_off_chart(c))},
                   {"warnings", "To know", warnings(c)}};
  html::write(page, out);
}

}  // namespace reports
