// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/choice.h"

namespace sim {

bool in_time(const Offer& o, const Wishes& w) { return !w.deadline || o.time_high <= *w.deadline; }
bool in_budget(const Offer& o, const Wishes& w) { return !w.budget || o.cost_high <= *w.budget; }
bool in_outlay(const Offer& o, const Wishes& w) { return !w.outlay || o.outlay <= *w.outlay; }

bool better(const Offer& a, const Offer& than, const Wishes& w) {
  if (w.fastest()) return a.time < than.time || (a.time == than.time && a.cost < than.cost);
  return a.cost < than.cost || (a.cost == than.cost && a.time < than.time);
}

std::optional<std::size_t> choose(const std::vector<Offer>& offers, const Wishes& wishes) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const Offer& o = offers[i];
    if (!o.possible || !in_time(o, wishes) || !in_budget(o, wishes) || !in_outlay(o, wishes)) continue;
    if (!best || better(o, offers[*best], wishes)) best = i;
  }
  return best;
}

std::vector<bool> front(const std::vector<Offer>& offers) {
  std::vector<bool> out(offers.size());
  for (std::size_t i = 0; i < offers.size(); ++i) {
    out[i] = offers[i].possible;
    for (const Offer& o : offers) {
      const bool no_worse = o.possible && o.time <= offers[i].time && o.cost <= offers[i].cost;
      if (no_worse && (o.time < offers[i].time || o.cost < offers[i].cost)) out[i] = false;
    }
  }
  return out;
}

}  // namespace sim
