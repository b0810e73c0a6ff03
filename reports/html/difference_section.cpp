// Where a measured step differs from the predicted one, operator by operator. Times of a CPU stand as shares of their
// own step. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "reports/difference.h"
#include "reports/html/chart.h"
#include "reports/html/measured_sections.h"
#include "reports/html/page.h"

namespace reports::html {
namespace {

using result::DifferencePart;
using result::OperatorTime;
using result::StepDifference;
using Kind = DifferencePart::Kind;

constexpr std::size_t kMostParts = 12;

double seconds(std::int64_t ps) { return static_cast<double>(ps) / 1e12; }
double share_of(std::int64_t ps, std::int64_t step) {
  return static_cast<double>(ps) / static_cast<double>(std::max<std::int64_t>(1, step));
}
bool is_gap(const DifferencePart& part) { return part.kind == Kind::idle || part.kind == Kind::waiting; }

Cell each(const DifferencePart& part, const OperatorTime& time) {
  if (is_gap(part) || time.count == 0) return none();
  return quantity(seconds(time.busy_ps / time.count), "s");
}
Cell in_step(const OperatorTime& time) {
  if (time.count == 0) return none();
  return quantity(seconds(time.in_step_ps), "s");
}
Cell share_in_step(const OperatorTime& time, std::int64_t step) {
  if (time.count == 0) return none();
  return share(share_of(time.in_step_ps, step));
}

Cell ratio(const DifferencePart& part) {
  if (is_gap(part) || part.predicted.busy_ps <= 0 || part.measured.busy_ps <= 0) return none();
  return decimal(static_cast<double>(part.measured.busy_ps) / static_cast<double>(part.predicted.busy_ps), 2);
}

Cell difference(const DifferencePart& part) {
  Cell cell = quantity(seconds(part.difference_ps()), "s");
  if (part.difference_ps() > 0) cell.shown = '+' + cell.shown;
  return cell;
}

Cell count_cell(const DifferencePart& part) {
  if (is_gap(part)) return none();
  const std::int64_t predicted = part.predicted.count, measured = part.measured.count;
  if (predicted == measured || measured == 0 || predicted == 0) return count(std::max(predicted, measured));
  return {fmt::format("{}/{}", predicted, measured), static_cast<double>(measured), {}};
}

std::string bars(const StepDifference& d, bool times) {
  Table table{"Of the step, by kind of operator",
              {{"label", "Kind"}, {"kind", "Which"}, {"value", times ? "Of the step" : "Share", true}},
              {}};
  if (!times) table.columns.push_back({"time", "Time", true});
  std::size_t told = 0;
  const auto add = [&](const DifferencePart& part, const char* kind, std::int64_t ps, std::int64_t step) {
    std::vector<Cell> row{text(title(part)), text(kind)};
    if (!times) row.push_back(share(share_of(ps, step)));
    row.push_back(quantity(seconds(ps), "s"));
    table.rows.push_back(std::move(row));
  };
  for (const DifferencePart& part : d.families) {
    if (part.predicted.in_step_ps == 0 && part.measured.in_step_ps == 0) continue;
    if (told++ == kMostParts) break;
    add(part, "predicted", part.predicted.in_step_ps, d.predicted_ps);
    add(part, "measured", part.measured.in_step_ps, d.measured_ps);
  }
  return figure({"paired",
                 times ? "Where the two steps spend their time." : "What share of its own step each kind takes.",
                 times
                     ? "What nothing hides, by kind of operator, the largest difference first; either side adds up to "
                       "its step."
                     : "Either side adds up to 100 %. Times are not compared: the shares show which operators ran, "
                       "not how fast a GPU of its own runs them.",
                 table,
                 {{"x_title", times ? "time of the step" : "share of its own step"},
                  {"x_format", times ? "s" : "%"},
                  {"x_unit", "s"}}});
}

std::vector<Column> columns(bool times) {
  std::vector<Column> out{{"what", "Operator"}, {"kind", "Kind"}, {"phase", "Phase"}, {"count", "Count", true}};
  const std::vector<Column> compared{{"predicted", "Predicted", true},
                                     {"measured", "Measured", true},
                                     {"ratio", "Times as long", true},
                                     {"difference", "Difference", true},
                                     {"predicted_step", "Of the step, predicted", true},
                                     {"measured_step", "Of the step, measured", true}};
  const std::vector<Column> beside{{"predicted", "Predicted, each", true},
                                   {"measured", "Measured, each", true},
                                   {"predicted_step", "Share, predicted", true},
                                   {"measured_step", "Share, measured", true}};
  const std::vector<Column>& more = times ? compared : beside;
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

std::string name_of(const DifferencePart& part) {
  if (part.name.empty()) return title(part);
  return is_gap(part) ? title(part) + ", " + part.name : part.name;
}

/// Of all parts (or kernels' families): times beside one another, or shares where times are not to be compared.
std::string table_of(const StepDifference& d, const std::vector<DifferencePart>& parts, bool times) {
  Table table{times
                  ? "Operators, the largest difference first; one of each, then their part of the step"
                  : "Operators: one of each as predicted for a GPU and as it ran here, and their share of either step",
              columns(times),
              {}};
  for (const DifferencePart& part : parts) {
    std::vector<Cell>& row = table.rows.emplace_back();
    row.push_back(text(name_of(part)));
    row.push_back(text(title(part)));
    row.push_back(text(part.phase));
    row.push_back(count_cell(part));
    row.push_back(each(part, part.predicted));
    row.push_back(each(part, part.measured));
    if (times) {
      row.push_back(ratio(part));
      row.push_back(difference(part));
    }
    row.push_back(times ? in_step(part.predicted) : share_in_step(part.predicted, d.predicted_ps));
    row.push_back(times ? in_step(part.measured) : share_in_step(part.measured, d.measured_ps));
  }
  return table.rows.empty() ? "" : html_of(table, true);
}

std::string kernels(const StepDifference& d) {
  Table table{
      "Measured kernels, most time first",
      {{"name", "Kernel"}, {"kind", "Kind"}, {"count", "Count", true}, {"each", "Each", true}, {"all", "All", true}},
      {}};
  for (const DifferencePart& part : d.kernels) {
    table.rows.push_back({text(part.name), text(part.family), count(part.measured.count), each(part, part.measured),
                          quantity(seconds(part.measured.busy_ps), "s")});
  }
  return table.rows.empty() ? "" : "<h3>Kernels</h3>" + html_of(table, true);
}

/// How many of the Plan's operators the record has: what a run on a CPU does show.
std::string coverage(const StepDifference& d) {
  if (!d.by_operator) return "";
  std::int64_t predicted = 0, both = 0, extra = 0;
  for (const result::AlignedOperator& op : d.operators) {
    predicted += op.has_predicted ? 1 : 0;
    both += op.has_predicted && op.has_measured ? 1 : 0;
    extra += op.has_predicted ? 0 : 1;
  }
  return paragraph_of(fmt::format("{} of {} predicted operators of rank {} (stage {}) were measured, and {} besides.",
                                  base::with_commas(both), base::with_commas(predicted), d.rank, d.stage,
                                  base::with_commas(extra)));
}

std::string findings_html(const StepDifference& d) {
  const Findings found = findings(d);
  return list_of(found.apart) +
         (found.close.empty() ? "" : paragraph_of("Within the prediction's own resolution: " + found.close + '.'));
}

}  // namespace

Times times_of(const StepDifference& d, const result::MeasuredRun* run) {
  if (d.source == "cpu") return Times::of_cpu;
  return run && run->time && run->time->shares_cards ? Times::of_shared_cards : Times::comparable;
}

std::string difference_section(const StepDifference& d, Times worth) {
  const bool times = worth == Times::comparable;
  const char* const why =
      worth == Times::of_cpu ? "These are times of a CPU." : "These are times of ranks that share a card.";
  const std::string first =
      times ? findings_html(d)
            : paragraph_of(std::string(why) +
                           " They say nothing of a GPU's own time and are not compared with the prediction's; what can "
                           "be held against it is which operators ran, and how often.");
  return first + coverage(d) + bars(d, times) + table_of(d, d.by_operator ? d.parts : d.families, times) + kernels(d);
}

}  // namespace reports::html
