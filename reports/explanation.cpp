// SPDX-License-Identifier: Apache-2.0
#include "reports/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/json.h"
#include "reports/json_object.h"
#include "reports/layout.h"
#include "reports/quantity.h"
#include "reports/table.h"

namespace reports {
namespace {

using result::Explanation;
using result::PathOperator;
using result::PathShare;

constexpr std::size_t kMostOperators = 15;
constexpr std::size_t kMostPathStages = 8;
constexpr double kLeastSaved = 0.0005;             // of the step: less shows as 0.0 %
constexpr int kPathBarAt = 49, kMostPathBar = 40;  // columns

/// Yellow: time in which nothing is worked out.
Ink ink_of(const std::string& category) {
  const bool lost = category == "waiting" || category == "bubble" || category == "host";
  return lost ? Ink::yellow : Ink::cyan;
}

std::string shares(const Explanation& e, const Style& style) {
  std::string out = "\nThe critical path, by what it spends its time on\n";
  for (const PathShare& part : e.categories) {
    const double share = part.time_s / e.step_time_s;
    const std::string length = bar(share, std::min(kMostPathBar, style.columns - kPathBarAt));
    out += fmt::format("  {:<14}{:>10}{:>9}{:>12}{}{}\n", spaced(part.name), seconds(part.time_s), percent(share),
                       base::with_commas(part.count) + " x", length.empty() ? "" : "  ",
                       inked(length, ink_of(part.name), style));
  }
  if (e.stages.size() < 2) return out;
  std::string stages;
  for (std::size_t i = 0; i < std::min(kMostPathStages, e.stages.size()); ++i) {
    stages +=
        fmt::format("{}stage {} {}", i ? ", " : "", e.stages[i].name, percent(e.stages[i].time_s / e.step_time_s));
  }
  if (e.stages.size() > kMostPathStages) stages += fmt::format(", and {} more", e.stages.size() - kMostPathStages);
  return out + paragraph("  runs through ", stages, style.columns);
}

std::string rate(const PathOperator& op) {
  if (op.rate_unit.empty()) return "";
  return op.rate_unit == "FLOP/s" ? base::human(base::FlopRate(op.rate)) : base::human(base::ByteRate(op.rate));
}

std::string operators(const Explanation& e, const Style& style) {
  using enum Column::Kind;
  Table table(2, {{"operators on it", text, 34},
                  {"phase", text, 9},
                  {"count", number, 7},
                  {"time", number, 9},
                  {"share", number, 8},
                  {"mean", number, 9},
                  {"rate", number, 13},
                  {"of peak", number, 8, 1, true}});
  double shown = 0;
  std::size_t at = 0;
  for (; at < e.operators.size() && at < kMostOperators; ++at) {
    const PathOperator& op = e.operators[at];
    shown += op.time_s;
    // Host time is told by what it held up.
    const bool held = op.category == "host" || op.category == "waiting";
    table.add({held ? op.category + ": " + op.name : op.name, op.phase, base::with_commas(op.count), seconds(op.time_s),
               percent(op.time_s / e.step_time_s), seconds(op.mean_s), rate(op),
               !op.rate_unit.empty() && op.of_peak > 0 ? fmt::format("{:.0f} %", op.of_peak * 100) : ""});
  }
  if (at < e.operators.size()) {
    const double rest = e.step_time_s - shown;
    table.add({fmt::format("and {} more (--json -)", e.operators.size() - at), "", "", seconds(rest),
               percent(rest / e.step_time_s)});
  }
  return '\n' + table.text(style);
}

std::string what_if(const Explanation& e) {
  std::string out = "\nIf it were free\n";
  for (const result::WhatIf& one : e.what_if) {
    const double saved = (e.step_time_s - one.step_time_s) / e.step_time_s;
    if (std::abs(saved) < kLeastSaved) continue;
    out += fmt::format("  {:<14}step time {:>10}  {:>+8.1f} %\n", spaced(one.free), seconds(one.step_time_s),
                       -saved * 100);
  }
  return out;
}

std::string warnings(const Explanation& e, const Style& style) {
  std::string out = e.warnings.empty() ? "" : "\nWarnings\n";
  for (const std::string& line : e.warnings) out += paragraph("  - ", line, style.columns);
  return out;
}

Json shares_json(const std::vector<PathShare>& shares, const char* key) {
  Json out = Json::array();
  for (const PathShare& part : shares)
    out.push_back({{key, part.name}, {"time_s", part.time_s}, {"count", part.count}});
  return out;
}

}  // namespace

std::string text(const Explanation& e, const Style& style) {
  std::string out = paragraph("", e.job, style.columns) + fmt::format("\nStep time {}\n", seconds(e.step_time_s));
  if (!e.fits)
    out += paragraph("",
                     inked("It does not fit", Ink::red, style) +
                         " into the GPUs' memory (forerun predict says why); this is the time it would take.",
                     style.columns);
  if (!(e.step_time_s > 0)) return out;
  return out + shares(e, style) + operators(e, style) + what_if(e) + warnings(e, style);
}

std::string json(const Explanation& e) {
  Json out;
  out["schema"] = kSchema;
  out["job"] = e.job;
  out["fits"] = e.fits;
  out["step_time_s"] = e.step_time_s;
  out["categories"] = shares_json(e.categories, "category");
  out["stages"] = shares_json(e.stages, "stage");
  out["operators"] = Json::array();
  for (const PathOperator& op : e.operators) {
    Json entry{{"category", op.category}, {"name", op.name},     {"phase", op.phase},
               {"count", op.count},       {"time_s", op.time_s}, {"mean_s", op.mean_s}};
    if (!op.rate_unit.empty()) {
      entry[op.rate_unit == "FLOP/s" ? "flops_per_s" : "bytes_per_s"] = op.rate;
      if (op.of_peak > 0) entry["of_peak"] = op.of_peak;
    }
    out["operators"].push_back(std::move(entry));
  }
  out["what_if"] = Json::array();
  for (const result::WhatIf& one : e.what_if) {
    out["what_if"].push_back(
        {{"free", one.free}, {"step_time_s", one.step_time_s}, {"saved_s", e.step_time_s - one.step_time_s}});
  }
  out["warnings"] = e.warnings;
  return text_of(out);
}

}  // namespace reports
