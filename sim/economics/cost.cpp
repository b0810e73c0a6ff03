// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/cost.h"

namespace sim {
namespace {

base::TimePrice electricity(base::Watts power, const spec::Ownership& own) {
  return base::TimePrice(own.electricity.value.per_si() * power.si());
}

}  // namespace

double RunningCost::price_factor(base::Money target, base::Seconds time) const {
  return (target - beside * time) / (of_price * time);
}

base::Watts power_of(const spec::Candidate& c, const spec::Ownership& own, int nodes) {
  return c.job.cluster.node.power * (own.pue.value * nodes);
}

RunningCost running_cost(const spec::Candidate& c, const spec::Ownership& own, int nodes) {
  if (!c.bought) return {c.rent->value * (1.0 * nodes * c.job.cluster.node.gpus), {}};
  const base::Seconds earning = own.life.value * own.use.value;
  return {base::TimePrice(c.price->value.dollars() * nodes / earning.si()), electricity(power_of(c, own, nodes), own)};
}

std::optional<base::Seconds> break_even(const spec::Candidate& c, const spec::Ownership& own) {
  const base::Watts power = power_of(c, own, 1);
  if (!c.rent || !c.price || !(power.si() > 0)) return {};
  const base::TimePrice saved = c.rent->value * c.job.cluster.node.gpus - electricity(power, own);
  if (!(saved.per_si() > 0)) return {};
  return c.price->value / saved;
}

}  // namespace sim
