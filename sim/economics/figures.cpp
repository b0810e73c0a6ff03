// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/figures.h"

#include <fmt/ranges.h>

#include <map>
#include <set>

namespace sim {
namespace {

using Figures = std::vector<result::PurchaseFigure>;

template <class T>
void tell(Figures& out, const std::string& what, const spec::Figure<T>& figure, const std::string& value) {
  for (const result::PurchaseFigure& told : out) {
    if (told.what == what && told.value == value) return;
  }
  out.push_back({what, value, figure.date, figure.source});
}

void tell(Figures& out, const std::string& what, const spec::Figure<double>& figure) {
  tell(out, what, figure, fmt::format("{:.4g}", figure.value));
}

void tell(Figures& out, const std::string& what, const spec::Figure<base::Seconds>& figure) {
  const double hours = figure.value.si() / base::kHour;
  tell(out, what, figure, hours < 1 ? fmt::format("{:.4g} min", hours * 60) : fmt::format("{:.5g} h", hours));
}

}  // namespace

std::vector<result::PurchaseFigure> figures_of(const spec::Purchase& p) {
  Figures out;
  bool owns = false;
  for (const spec::Candidate& c : p.candidates) {
    if (c.rent) {
      tell(out, "rent of " + c.rent_of, *c.rent, fmt::format("${:#.4g}/h", c.rent->value.per_si() * base::kHour));
    }
    if (c.price) tell(out, "price of " + c.price_of, *c.price, base::human(c.price->value));
    owns = owns || c.price;
  }
  const spec::Ownership& own = p.ownership;
  tell(out, "PUE", own.pue);
  if (owns) {
    tell(out, "electricity", own.electricity, base::human(own.electricity.value));
    tell(out, "life", own.life, fmt::format("{:.4g} years", own.life.value / base::days(365)));
    tell(out, "use", own.use);
  }
  const spec::Failures& f = p.failures;
  tell(out, "MTBF of a GPU", f.gpu_mtbf);
  tell(out, "MTBF of a node's rest", f.node_mtbf);
  tell(out, "take a node out", f.hardware);
  tell(out, "detection", f.detect);
  tell(out, "restart", f.restart);
  tell(out, "repair", f.repair);
  tell(out, "checkpoints, of a node", p.checkpoint.bandwidth, base::human(p.checkpoint.bandwidth.value));
  return out;
}

std::string note_of_sellers(const spec::Purchase& p) {
  std::map<std::string, std::set<std::string>> asked;  // by whom, for what
  for (const spec::Candidate& c : p.candidates) {
    if (c.rent && !c.rent->seller.empty()) asked[c.rent->seller].insert(c.rent_of);
  }
  if (asked.size() < 2) return {};
  std::vector<std::string> offers;
  for (const auto& [seller, of] : asked) offers.push_back(fmt::format("{} ({})", seller, fmt::join(of, ", ")));
  return fmt::format(
      "The rents are offers of different sellers: {}. One GPU costs up to twice as much from one as from another, so "
      "choose between these with offers of your own (--prices FILE, or rent of a candidate)",
      fmt::join(offers, ", "));
}

}  // namespace sim
