// The step as a waterfall of its parts, and what to do where it does not fit.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "reports/html/charts.h"
#include "reports/html/page.h"
#include "reports/html/prediction_sections.h"
#include "reports/quantity.h"
#include "reports/shortfall.h"

namespace reports::html {

std::string misfit_advice(const result::Prediction& p) {
  if (p.fits) return "";
  std::string out;
  if (!p.attack.empty()) out += paragraph_of("Most is gained by fewer " + spaced(p.attack) + ".");
  if (!p.mends.empty()) out += paragraph_of("Each of these changes alone makes it fit:");
  return out + list_of(mend_words(p));
}

Chart step_chart(const result::Prediction& p) {
  if (p.breakdown_s.empty() || !(p.step_time_s > 0)) return {};
  Table table{"Parts of the step",
              {{"label", "Part"},
               {"kind", "kind", false, false},
               {"start", "Begins at", true, false},
               {"value", "Time", true},
               {"share", "Share", true}},
              {}};
  double start = 0;
  for (const auto& [name, time] : p.breakdown_s) {
    if (time == 0) continue;
    const std::string kind = name.starts_with("exposed_") ? name.substr(8) : name;
    table.rows.push_back(
        {text(spaced(name)), text(kind), quantity(start, "s"), quantity(time, "s"), share(time / p.step_time_s)});
    start += time;
  }
  table.rows.push_back({text("step"), text("total"), quantity(0, "s"), quantity(p.step_time_s, "s"), share(1)});
  const std::string of = p.stages.size() > 1 ? fmt::format("Stage {}, the slowest. ", p.breakdown_stage) : "";
  return {"waterfall",
          "The step, part by part.",
          of + "Communication counts where nothing hides it; the line on the step is its 80 % interval.",
          table,
          {{"low", p.step_time_low_s}, {"high", p.step_time_high_s}}};
}

std::string breakdown_section(const result::Prediction& p) { return figure(step_chart(p)); }

}  // namespace reports::html
