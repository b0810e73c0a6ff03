// SPDX-License-Identifier: Apache-2.0
#include "reports/sensitivity.h"

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

using result::InputEffect;
using result::Sensitivity;

constexpr double kLeastShown = 0.0005;  // of the step, at 10 % more: less shows as 0.0 %
constexpr double kLeastBend = 0.01;
constexpr std::size_t kMostAnswers = 3;

double saved_s(const Sensitivity& s, const InputEffect& e) { return s.step_time_s - e.step_with_more_s; }
double saved(const Sensitivity& s, const InputEffect& e) { return saved_s(s, e) / s.step_time_s; }
bool shows(const Sensitivity& s, const InputEffect& e) {
  return std::max(std::abs(saved(s, e)), std::abs(e.elasticity) / 10) >= kLeastShown;
}

std::string signed_seconds(double value) { return (value < 0 ? "-" : "") + seconds(std::abs(value)); }

std::string origin(const InputEffect& e) { return e.kind == "datasheet" ? "data sheet" : e.kind; }

/// Behind an elasticity: '?' where it is another to either side, '~' where it is not exact.
char mark(const InputEffect& e) {
  const double apart = std::abs(e.above - e.below);
  if (apart > kLeastBend && apart > std::abs(e.elasticity) / 5) return '?';
  return e.exact ? ' ' : '~';
}

std::string sentences(const Sensitivity& s) {
  std::string out;
  for (std::size_t i = 0; i < std::min(kMostAnswers, s.effects.size()); ++i) {
    const InputEffect& e = s.effects[i];
    const double part = saved(s, e);
    out += fmt::format("  {:.3g} % more {} {} {:.1f} % ({})\n", e.more * 100, e.input, part < 0 ? "costs" : "buys",
                       std::abs(part) * 100, seconds(std::abs(saved_s(s, e))));
  }
  return out;
}

Table inputs() {
  using enum Column::Kind;
  return {2,
          {{"input", text, 34},
           {"value", number, 13},
           {"elasticity ", number, 12},
           {"+10 % buys", number, 19},
           {"doubt", number, 8},
           {"from", text, 0, 2}}};
}

std::vector<Cell> row(const Sensitivity& s, const InputEffect& e) {
  const std::string buys = fmt::format("{:.1f} % {:>8}", saved(s, e) * 100, signed_seconds(saved_s(s, e)));
  return {e.input,
          human(e.value, e.unit),
          fmt::format("{:.3f}{}", e.elasticity, mark(e)),
          {buys, saved_s(s, e) < 0 ? Ink::red : Ink::green},
          e.cause.empty() ? "" : fmt::format("{:.0f} %", e.interval_share * 100),
          origin(e)};
}

std::string counted(const Sensitivity& s, int small) {
  std::string out;
  const auto add = [&](int count, const char* what) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
  };
  add(small, "change it by less than 0.05 % (--json -)");
  add(s.hidden, "act on what nothing waits for");
  add(s.unused, "on nothing in this step");
  add(s.counts, "are whole numbers (SMs, tiles)");
  return out;
}

constexpr const char* kLegend =
    "elasticity: by how many percent the step changes for one percent of the input. +10 % buys: shorter (below "
    "zero: longer) by so much with 10 % more, of a share up to its whole, the step run again. doubt: how much of the "
    "width of the 80 % interval comes of the curve that the input belongs to. Sources: --json -, or `forerun show` of "
    "the node and GPU.";

}  // namespace

std::string text(const Sensitivity& s, const Style& style) {
  std::string out = paragraph("", s.job, style.columns) + fmt::format("\nStep time {}\n", seconds(s.step_time_s));
  if (!s.fits)
    out +=
        paragraph("", inked("It does not fit", Ink::red, style) + " into the GPUs' memory (forerun predict says why).",
                  style.columns);
  if (!(s.step_time_s > 0)) return out;
  out += sentences(s);
  Table table = inputs();
  int small = 0, exact = 0;
  for (const InputEffect& e : s.effects) {
    exact += e.exact;
    if (shows(s, e)) {
      table.add(row(s, e));
    } else {
      ++small;
    }
  }
  const int all = static_cast<int>(s.effects.size());
  out += '\n' + table.text(style);
  out += '\n' + paragraph("  Others: ", counted(s, small), style.columns);
  out += paragraph("  ",
                   fmt::format("Elasticities of {} inputs are exact, along the critical path; of {} (~) by "
                               "differences of whole steps; ? where less and more of it differ.",
                               exact, all - exact),
                   style.columns);
  out += paragraph("  ", kLegend, style.columns);
  if (!s.warnings.empty()) out += "\nWarnings\n";
  for (const std::string& line : s.warnings) out += paragraph("  - ", line, style.columns);
  return out;
}

std::string json(const Sensitivity& s) {
  Json out;
  out["schema"] = kSchema;
  out["job"] = s.job;
  out["fits"] = s.fits;
  out["step_time_s"] = s.step_time_s;
  out["sensitivity"] = Json::array();
  for (const InputEffect& e : s.effects) {
    Json entry{{"input", e.input},
               {"value", e.value},
               {"unit", e.unit},
               {"elasticity", e.elasticity},
               {"elasticity_below", e.below},
               {"elasticity_above", e.above},
               {"exact", e.exact},
               {"step_time_with_10_percent_more_s", e.step_with_more_s},
               {"saved_s", saved_s(s, e)},
               {"kind", e.kind},
               {"source", e.source}};
    if (!e.cause.empty()) {
      entry["interval_cause"] = e.cause;
      entry["interval_share"] = e.interval_share;
    }
    out["sensitivity"].push_back(std::move(entry));
  }
  out["without_effect"] = {{"hidden", s.hidden}, {"unused", s.unused}, {"whole_numbers", s.counts}};
  out["warnings"] = s.warnings;
  return text_of(out);
}

std::string csv(const Sensitivity& s) {
  const auto quoted = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('"', at)) != text.npos; at += 2) text.insert(at, 1, '"');
    return '"' + text + '"';
  };
  std::string out =
      "input,value,unit,elasticity,elasticity_below,elasticity_above,exact,step_time_with_10_percent_more_s,saved_s,"
      "kind,source,interval_cause,"
      "interval_share\n";
  for (const InputEffect& e : s.effects) {
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", quoted(e.input), e.value, e.unit, e.elasticity,
                       e.below, e.above, e.exact, e.step_with_more_s, saved_s(s, e), e.kind, quoted(e.source),
                       quoted(e.cause), e.cause.empty() ? "" : fmt::format("{}", e.interval_share));
  }
  return out;
}

}  // namespace reports
