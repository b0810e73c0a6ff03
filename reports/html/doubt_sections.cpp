// What would change the answer, how sure it is, and what it rests on.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/html/charts.h"
#include "reports/html/escape.h"
#include "reports/html/page.h"
#include "reports/html/prediction_sections.h"
#include "reports/quantity.h"

namespace reports::html {
namespace {

constexpr std::size_t kMostBars = 15;
constexpr double kLess = 0.9;  // of an input, against 1.1

/// The step with 10 % less of an input, by its elasticity towards less.
double with_less(const result::InputEffect& effect, double step) { return step * std::pow(kLess, effect.below); }

double largest_change(const result::InputEffect& effect, double step) {
  return std::max(std::abs(effect.step_with_more_s - step), std::abs(with_less(effect, step) - step));
}

}  // namespace

Chart sensitivity_chart(const result::Sensitivity& s) {
  std::vector<result::InputEffect> effects = s.effects;
  std::stable_sort(effects.begin(), effects.end(), [&](const auto& a, const auto& b) {
    return largest_change(a, s.step_time_s) > largest_change(b, s.step_time_s);
  });
  effects.resize(std::min(effects.size(), kMostBars));
  Table table{"Effect of each input on the step time",
              {{"label", "Input"},
               {"value", "Value", true},
               {"less", "With 10 % less", true},
               {"more", "With 10 % more", true},
               {"kind", "Known from"}},
              {}};
  for (const result::InputEffect& effect : effects) {
    table.rows.push_back({text(effect.input), quantity(effect.value, effect.unit),
                          signed_share(with_less(effect, s.step_time_s) / s.step_time_s - 1),
                          signed_share(effect.step_with_more_s / s.step_time_s - 1), text(effect.kind)});
  }
  return {"tornado",
          "Step time with 10 % more or less of an input.",
          "More is the step run again; less follows the slope there. Below zero is a shorter step.",
          table,
          {{"x_title", "change of the step time"}, {"names", {"10 % less", "10 % more"}}}};
}

std::string sensitivity_section(const result::Sensitivity& s) { return figure(sensitivity_chart(s)); }

Chart interval_chart(const result::Prediction& p) {
  Table table{"Reasons for the interval",
              {{"label", "Reason"}, {"less", "Faster", true}, {"more", "Slower", true}, {"share", "Acts on", true}},
              {}};
  for (const result::IntervalContribution& c : p.interval_contributions) {
    if (table.rows.size() == kMostBars || std::max(c.faster, c.slower) < 0.0005) break;
    table.rows.push_back({text(c.cause), signed_share(-c.faster), signed_share(c.slower), share(c.share)});
  }
  return {
      "tornado",
      fmt::format("Why the 80 % interval is {} to {}.", human(p.step_time_low_s, "s"), human(p.step_time_high_s, "s")),
      "Standard deviations of the step, by reason; their squares add up.",
      table,
      {{"x_title", "one standard deviation of the step time"}, {"names", {"measured faster", "measured slower"}}}};
}

std::string interval_section(const result::Prediction& p) { return figure(interval_chart(p)); }

std::string sources_section(const result::Prediction& p) {
  std::string out;
  if (!p.warnings.empty()) out += "<h3>Warnings</h3>" + list_of(p.warnings);
  if (!p.assumptions.empty()) out += "<h3>Assumed where the job says nothing</h3>" + list_of(p.assumptions);
  if (p.provenance.empty()) return out;
  Table table{"Calibrated numbers and where they come from",
              {{"what", "Number"}, {"kind", "Known from"}, {"source", "Source"}},
              {}};
  for (const result::Provenance& one : p.provenance) {
    Cell kind = text(one.kind);
    kind.mark = "kind-" + one.kind;
    table.rows.push_back({text(one.what), std::move(kind), text(one.source)});
  }
  return out + "<h3>Calibrated numbers</h3>" + html_of(table, true);
}

}  // namespace reports::html
