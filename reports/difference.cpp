// SPDX-License-Identifier: Apache-2.0
#include "reports/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/layout.h"
#include "reports/table.h"

namespace reports {
namespace {

using result::DifferencePart;
using result::OperatorTime;
using result::StepDifference;
using Kind = DifferencePart::Kind;

constexpr double kClose = 0.03;         // of the prediction: nothing to tell
constexpr double kWorthTelling = 0.01;  // of the step
constexpr std::size_t kMostSentences = 8, kMostParts = 15, kMostGaps = 6;
constexpr int kKernelColumns = 46;

std::string seconds_of_ps(std::int64_t ps) { return base::human(base::Seconds(static_cast<double>(ps) / 1e12)); }
std::string signed_seconds(std::int64_t ps) { return (ps > 0 ? "+" : ps < 0 ? "-" : "") + seconds_of_ps(std::abs(ps)); }

/// 0: one of the two has none.
double ratio(const DifferencePart& part) {
  if (part.predicted.busy_ps <= 0 || part.measured.busy_ps <= 0) return 0;
  return static_cast<double>(part.measured.busy_ps) / static_cast<double>(part.predicted.busy_ps);
}

/// Time in which no operator of the rank works.
bool is_gap(const DifferencePart& part) { return part.kind == Kind::idle || part.kind == Kind::waiting; }

std::string ratio_text(const DifferencePart& part) {
  return is_gap(part) || ratio(part) == 0 ? "" : fmt::format("{:.2f} x", ratio(part));
}

/// A kernel's name may be a page of template arguments.
std::string short_kernel(const std::string& kernel) {
  return columns(kernel) <= kKernelColumns ? kernel : kernel.substr(0, kKernelColumns - 2) + "..";
}

bool is_nothing(const DifferencePart& part) { return part.predicted.busy_ps == 0 && part.measured.busy_ps == 0; }

/// Which memory-bound kernels a profile tells of hangs on their names alone: a copy of one library is an elementwise
/// kernel of another.
bool told_by_name_alone(const DifferencePart& part) {
  constexpr std::string_view families[] = {"elementwise", "norm",   "softmax", "embedding", "loss",
                                           "copy",        "reduce", "cast",    "other"};
  return std::ranges::count(families, part.family) > 0;
}

/// The families of a step, those that are told by name alone as one.
std::vector<DifferencePart> comparable(const StepDifference& d) {
  if (d.by_operator) return d.families;
  std::vector<DifferencePart> out;
  DifferencePart sum{Kind::operators, "memory-bound work (by kernel names: below)", "", "", {}, {}};
  for (const DifferencePart& part : d.families) {
    if (!told_by_name_alone(part)) {
      out.push_back(part);
      continue;
    }
    sum.predicted += part.predicted;
    sum.measured += part.measured;
  }
  out.push_back(sum);
  std::ranges::stable_sort(out, std::ranges::greater(), [](const auto& p) { return std::abs(p.difference_ps()); });
  return out;
}

bool is_worth_telling(const DifferencePart& part, const StepDifference& d) {
  const auto most = static_cast<double>(std::max(part.predicted.busy_ps, part.measured.busy_ps));
  return part.kind == Kind::operators && ratio(part) > 0 && most >= kWorthTelling * static_cast<double>(d.predicted_ps);
}

std::string head(const StepDifference& d, const Style& style) {
  std::string out = d.job.empty() ? "" : paragraph("", d.job, style.columns);
  out += paragraph("", fmt::format("Held against {} ({}): rank {}, stage {}", d.trace, d.source, d.rank, d.stage),
                   style.columns);
  const double share =
      static_cast<double>(d.difference_ps()) / static_cast<double>(std::max<std::int64_t>(1, d.predicted_ps));
  const std::string off = fmt::format("{} ({:+.1f} %)", signed_seconds(d.difference_ps()), share * 100);
  return out + '\n' +
         paragraph("",
                   fmt::format("Step time {} predicted, {} measured: {}", seconds_of_ps(d.predicted_ps),
                               seconds_of_ps(d.measured_ps),
                               inked(off, d.difference_ps() > 0 ? Ink::red : Ink::green, style)),
                   style.columns);
}

std::string sentences(const StepDifference& d, const Style& style) {
  const Findings found = findings(d);
  std::string out;
  for (const std::string& line : found.apart) out += paragraph("  ", line, style.columns);
  if (!found.close.empty())
    out += paragraph(fmt::format("  within {:.0f} %: ", kClose * 100), found.close, style.columns);
  return out;
}

std::string count_text(const DifferencePart& part) {
  const auto predicted = part.predicted.count, measured = part.measured.count;
  if (is_gap(part)) return "";
  if (predicted == measured || measured == 0) return base::with_commas(predicted);
  return predicted == 0 ? base::with_commas(measured) : fmt::format("{}/{}", predicted, measured);
}

std::string time_or_nothing(const OperatorTime& time, std::int64_t OperatorTime::*what) {
  return time.count == 0 ? "" : seconds_of_ps(time.*what);
}

std::string families(const StepDifference& d, const Style& style) {
  using enum Column::Kind;
  Table table(2, {{"where the time goes", text, 30},
                  {"count", number, 8},
                  {"predicted", number, 10},
                  {"measured", number, 10, 1, true},
                  {"ratio", number, 9, 1, true},
                  {"predicted", number, 10},
                  {"measured", number, 10, 1, true},
                  {"difference", number, 11, 1, true}});
  table.add_above({"", "", "", "", "busy, hidden or not", "", "", "of the step"});
  for (const DifferencePart& part : d.families) {
    if (is_nothing(part)) continue;
    const bool idle = is_gap(part);
    table.add({title(part), count_text(part), idle ? "" : time_or_nothing(part.predicted, &OperatorTime::busy_ps),
               idle ? "" : time_or_nothing(part.measured, &OperatorTime::busy_ps), ratio_text(part),
               time_or_nothing(part.predicted, &OperatorTime::in_step_ps),
               time_or_nothing(part.measured, &OperatorTime::in_step_ps), signed_seconds(part.difference_ps())});
  }
  table.add({"step", "", "", "", "", seconds_of_ps(d.predicted_ps), seconds_of_ps(d.measured_ps),
             signed_seconds(d.difference_ps())});
  return '\n' + table.text(style);
}

std::string each(const OperatorTime& time) { return time.count == 0 ? "-" : seconds_of_ps(time.busy_ps / time.count); }

/// The first `most` of the parts that `shown` takes, as rows of `table`; nothing where there are none.
template <class Shown, class Cells>
std::string rows(Table table, const std::vector<DifferencePart>& parts, std::size_t most, const Style& style,
                 const Shown& shown, const Cells& cells) {
  std::size_t told = 0;
  for (const DifferencePart& part : parts) {
    if (shown(part) && told++ < most) table.add(cells(part));
  }
  if (told > most) table.add_lines(fmt::format("  and {} more (--json -)\n", told - most));
  return told == 0 ? "" : '\n' + table.text(style);
}

/// The two tables of operators stand below one another.
Table beside(const char* name, const char* count, const char* ratio) {
  using enum Column::Kind;
  return {2,
          {{name, text, 36},
           {"phase", text, 9},
           {count, number, 8},
           {"predicted", number, 11},
           {"measured", number, 11, 1, true},
           {ratio, number, 9},
           {"difference", number, 12, 1, true}}};
}

std::string operators(const StepDifference& d, const Style& style) {
  return rows(
      beside("operators, one of each", "count", "ratio"), d.parts, kMostParts, style,
      [](const DifferencePart& part) { return !is_gap(part) && !is_nothing(part); },
      [](const DifferencePart& part) {
        return std::vector<Cell>{part.name,
                                 part.phase,
                                 count_text(part),
                                 each(part.predicted),
                                 each(part.measured),
                                 ratio_text(part),
                                 signed_seconds(part.difference_ps())};
      });
}

std::string gaps(const StepDifference& d, const Style& style) {
  return rows(beside("idle before, waiting in", "", ""), d.parts, kMostGaps, style, is_gap,
              [](const DifferencePart& part) {
                return std::vector<Cell>{(part.kind == Kind::idle ? "before " : "in ") + part.name,
                                         part.phase,
                                         "",
                                         seconds_of_ps(part.predicted.in_step_ps),
                                         seconds_of_ps(part.measured.in_step_ps),
                                         "",
                                         signed_seconds(part.difference_ps())};
              });
}

std::string kernels(const StepDifference& d, const Style& style) {
  using enum Column::Kind;
  const Table table(2, {{"measured kernels", text, 20},
                        {"count", number, 8},
                        {"each", number, 11},
                        {"all", number, 11},
                        {"name", text, 0, 2}});
  return rows(
      table, d.kernels, kMostParts, style, [](const DifferencePart&) { return true; },
      [](const DifferencePart& part) {
        return std::vector<Cell>{part.family, base::with_commas(part.measured.count), each(part.measured),
                                 seconds_of_ps(part.measured.busy_ps), short_kernel(part.name)};
      });
}

std::string notes(const StepDifference& d, const Style& style) {
  std::string out = d.notes.empty() ? "" : "\nNotes\n";
  for (const std::string& note : d.notes) out += paragraph("  - ", note, style.columns);
  return out;
}

}  // namespace

std::string title(const DifferencePart& part) {
  switch (part.kind) {
    case Kind::only_predicted: return "unmeasured " + part.family;
    case Kind::only_measured: return "unpredicted " + part.family;
    case Kind::waiting: return "waiting in " + part.family;
    case Kind::operators:
    case Kind::idle: break;
  }
  return part.family;
}

Findings findings(const StepDifference& d) {
  Findings out;
  for (const DifferencePart& part : comparable(d)) {
    if (!is_worth_telling(part, d)) continue;
    if (std::abs(ratio(part) - 1) <= kClose) {
      out.close += (out.close.empty() ? "" : ", ") + part.family;
    } else if (out.apart.size() < kMostSentences) {
      out.apart.push_back(fmt::format("{} takes {:.2f} x as long as predicted: {} of the step", part.family,
                                      ratio(part), signed_seconds(part.difference_ps())));
    }
  }
  return out;
}

std::string summary(const StepDifference& d, const Style& style) {
  return head(d, style) + sentences(d, style) + families(d, style) + notes(d, style);
}

std::string text(const StepDifference& d, const Style& style) {
  return head(d, style) + sentences(d, style) + families(d, style) + operators(d, style) + gaps(d, style) +
         kernels(d, style) + notes(d, style);
}

}  // namespace reports
