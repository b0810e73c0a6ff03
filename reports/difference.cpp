// SPDX-License-Identifier: Apache-2.0
#include "reports/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/layout.h"

namespace reports {
namespace {

using result::DifferencePart;
using result::OperatorTime;
using result::StepDifference;
using Kind = DifferencePart::Kind;

constexpr double kClose = 0.03;         // of the prediction: nothing to tell
constexpr double kWorthTelling = 0.01;  // of the step
constexpr std::size_t kMostSentences = 8, kMostParts = 15, kMostGaps = 6;
constexpr int kNameColumns = 36, kFamilyColumns = 30;

std::string seconds(std::int64_t ps) { return base::human(base::Seconds(static_cast<double>(ps) / 1e12)); }
std::string signed_seconds(std::int64_t ps) { return (ps > 0 ? "+" : ps < 0 ? "-" : "") + seconds(std::abs(ps)); }

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

std::string cut(const std::string& name, int most = kNameColumns) {
  return columns(name) <= most ? name : name.substr(0, static_cast<std::size_t>(most) - 2) + "..";
}

bool is_nothing(const DifferencePart& part) { return part.predicted.busy_ps == 0 && part.measured.busy_ps == 0; }

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
  return out + fmt::format("\nStep time {} predicted, {} measured: {}\n", seconds(d.predicted_ps),
                           seconds(d.measured_ps), inked(off, d.difference_ps() > 0 ? Ink::red : Ink::green, style));
}

std::string sentences(const StepDifference& d, const Style& style) {
  const Findings found = findings(d);
  std::string out;
  for (const std::string& line : found.apart) out += "  " + line + '\n';
  if (!found.close.empty()) out += paragraph(fmt::format("  within {:.0f} %: ", kClose * 100), found.close, style.columns);
  return out;
}

std::string count_text(const DifferencePart& part) {
  const auto predicted = part.predicted.count, measured = part.measured.count;
  if (is_gap(part)) return "";
  if (predicted == measured || measured == 0) return base::with_commas(predicted);
  return predicted == 0 ? base::with_commas(measured) : fmt::format("{}/{}", predicted, measured);
}

std::string time_or_nothing(const OperatorTime& time, std::int64_t OperatorTime::*what) {
  return time.count == 0 ? "" : seconds(time.*what);
}

std::string families(const StepDifference& d) {
  std::string out = fmt::format("\n{:>{}}{:>31}\n", "busy, hidden or not", kFamilyColumns + 39, "of the step");
  out += fmt::format("  {:<{}}{:>8}{:>10}{:>10}{:>9}{:>10}{:>10}{:>11}\n", "where the time goes", kFamilyColumns,
                     "count", "predicted", "measured", "ratio", "predicted", "measured", "difference");
  for (const DifferencePart& part : d.families) {
    if (is_nothing(part)) continue;
    const bool idle = is_gap(part);
    out += fmt::format("  {:<{}}{:>8}{:>10}{:>10}{:>9}{:>10}{:>10}{:>11}\n", cut(title(part), kFamilyColumns),
                       kFamilyColumns, count_text(part),
                       idle ? "" : time_or_nothing(part.predicted, &OperatorTime::busy_ps),
                       idle ? "" : time_or_nothing(part.measured, &OperatorTime::busy_ps), ratio_text(part),
                       time_or_nothing(part.predicted, &OperatorTime::in_step_ps),
                       time_or_nothing(part.measured, &OperatorTime::in_step_ps), signed_seconds(part.difference_ps()));
  }
  return out + fmt::format("  {:<{}}{:>8}{:>10}{:>10}{:>9}{:>10}{:>10}{:>11}\n", "step", kFamilyColumns, "", "", "", "",
                           seconds(d.predicted_ps), seconds(d.measured_ps), signed_seconds(d.difference_ps()));
}

std::string each(const OperatorTime& time) { return time.count == 0 ? "-" : seconds(time.busy_ps / time.count); }

/// The first `most` of the parts that `shown` takes.
template <class Line>
std::string lines(const std::vector<DifferencePart>& parts, std::size_t most,
                  const std::function<bool(const DifferencePart&)>& shown, const Line& line) {
  std::string out;
  std::size_t told = 0, left = 0;
  for (const DifferencePart& part : parts) {
    if (!shown(part)) continue;
    if (told++ < most) {
      out += line(part);
    } else {
      ++left;
    }
  }
  return left == 0 ? out : out + fmt::format("  and {} more (--json -)\n", left);
}

std::string operators(const StepDifference& d) {
  const auto shown = [](const DifferencePart& part) { return !is_gap(part) && !is_nothing(part); };
  const std::string all = lines(d.parts, kMostParts, shown, [](const DifferencePart& part) {
    return fmt::format("  {:<{}} {:<9}{:>8}{:>11}{:>11}{:>9}{:>12}\n", cut(part.name), kNameColumns, part.phase,
                       count_text(part), each(part.predicted), each(part.measured), ratio_text(part),
                       signed_seconds(part.difference_ps()));
  });
  if (all.empty()) return "";
  return fmt::format("\n  {:<{}} {:<9}{:>8}{:>11}{:>11}{:>9}{:>12}\n", "operators, one of each", kNameColumns, "phase",
                     "count", "predicted", "measured", "ratio", "difference") +
         all;
}

std::string gaps(const StepDifference& d) {
  const std::string all = lines(d.parts, kMostGaps, is_gap, [](const DifferencePart& part) {
    const std::string where = part.kind == Kind::idle ? "before " : "in ";
    return fmt::format("  {:<{}} {:<9}{:>8}{:>11}{:>11}{:>9}{:>12}\n", cut(where + part.name), kNameColumns, part.phase,
                       "", seconds(part.predicted.in_step_ps), seconds(part.measured.in_step_ps), "",
                       signed_seconds(part.difference_ps()));
  });
  if (all.empty()) return "";
  return fmt::format("\n  {:<{}} {:<9}{:>8}{:>11}{:>11}{:>9}{:>12}\n", "idle before, waiting in", kNameColumns, "phase",
                     "", "predicted", "measured", "", "difference") +
         all;
}

std::string kernels(const StepDifference& d) {
  const std::string all = lines(
      d.kernels, kMostParts, [](const DifferencePart&) { return true; },
      [](const DifferencePart& part) {
        return fmt::format("  {:<20}{:>8}{:>11}{:>11}  {}\n", part.family, base::with_commas(part.measured.count),
                           each(part.measured), seconds(part.measured.busy_ps), cut(part.name, 46));
      });
  if (all.empty()) return "";
  return fmt::format("\n  {:<20}{:>8}{:>11}{:>11}  {}\n", "measured kernels", "count", "each", "all", "name") + all;
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
  for (const DifferencePart& part : d.families) {
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
  return head(d, style) + sentences(d, style) + families(d) + notes(d, style);
}

std::string text(const StepDifference& d, const Style& style) {
  return head(d, style) + sentences(d, style) + families(d) + operators(d) + gaps(d) + kernels(d) + notes(d, style);
}

}  // namespace reports
