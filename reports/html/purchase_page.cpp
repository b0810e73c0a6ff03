// SPDX-License-Identifier: Apache-2.0
#include "reports/html/purchase_page.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "reports/html/page.h"
#include "reports/html/purchase_sections.h"
#include "reports/layout.h"
#include "reports/purchase.h"
#include "reports/quantity.h"

namespace reports {
namespace {

using result::Purchase;
using result::PurchaseRow;

std::string answer(const Purchase& p) {
  return headline(p) + (p.complete ? "" : " The search was interrupted: this is the best of what was looked at.");
}

std::vector<html::KeyFigure> key_figures(const Purchase& p) {
  if (!p.recommended) return {};
  const PurchaseRow& best = p.rows[*p.recommended];
  std::vector<html::KeyFigure> out{
      {"Time", days_text(best.time_s), days_text(best.time_low_s) + " to " + days_text(best.time_high_s)},
      {best.bought ? "This run's cost" : "Cost", money(best.cost),
       money(best.cost_low) + " to " + money(best.cost_high)}};
  if (best.outlay > 0) out.push_back({"To buy", money(best.outlay), "all nodes at once"});
  if (best.chance_in_time && p.deadline_s) {
    out.push_back({"In time", percent(*best.chance_in_time), "of runs, within " + days_text(*p.deadline_s)});
  }
  out.push_back({"Failures", fmt::format("{:.3g}", best.goodput.failures),
                 "of a run, one every " + days_text(best.goodput.mtbf_s)});
  out.push_back({"Goodput", percent(best.goodput.goodput), "of the time is training that counts"});
  out.push_back({"GPUs", base::with_commas(best.gpus),
                 fmt::format("{} nodes and {} spare{}", best.nodes, best.spares, best.spares == 1 ? "" : "s")});
  if (best.energy_j > 0) {
    out.push_back({"Energy", megawatt_hours(best.energy_j) + " MWh", "at most"});
  }
  return out;
}

std::string title(const Purchase& p) {
  return with_limits(fmt::format("{}, {:.4g} billion tokens", p.model, p.tokens / 1e9), p);
}

}  // namespace

void write_html(const Purchase& p, const std::string& version, std::ostream& out) {
  html::Page page{"plan", title(p), answer(p), !p.recommended, key_figures(p), {}, version};
  page.sections = {{"why", "Why, and what may go wrong", html::list_of(reasons(p))},
                   {"flips", "What would change it", html::flips_section(p)},
                   {"days-cost", "Days against cost", html::days_and_cost_section(p)},
                   {"candidates", "All candidates", html::candidates_section(p)},
                   {"break-even", "Rent against buy", html::break_even_section(p)},
                   {"strategies", "Best strategies", html::strategies_section(p)},
                   {"failures", "Failures", html::failures_section(p)},
                   {"figures", "Prices and rates, and who says so", html::figures_section(p)},
                   {"assumptions", "Assumed", html::assumptions_section(p)},
                   {"notes", "To know", html::list_of(p.notes)}};
  html::write(page, out);
}

}  // namespace reports
