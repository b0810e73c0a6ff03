// core/result/purchase.h -- the answer of `forerun plan`: what each cluster would take and cost, which to take, and
// what would change that. SI units and US dollars; the names are the JSON keys (docs/plan.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result/prediction.h"

namespace result {

/// What failures leave of the time, over the simulated runs; shares are of the whole time.
struct Goodput {
  double mtbf_s = 0;    // of the cluster
  double failures = 0;  // of a run, mean
  double goodput = 1;  // undisturbed training over the whole time: by the closed form where it is exact, else simulated
  std::optional<double> closed_form;
  double simulated = 1, error = 0;  // of the simulated runs, and its standard error
  double checkpoint_bytes = 0, checkpoint_s = 0, written_beside_s = 0;
  double interval_s = 0, best_interval_s = 0;  // of work, between two checkpoints; the second as the formula has it
  std::int64_t interval_steps = 0;
  double restart_s = 0;  // with a node to stand in
  double down = 0, lost = 0, checkpoints = 0, slow = 0;
};

struct PurchaseRow {
  std::string candidate;
  std::string refused;  // why nothing is known of it; empty: it was predicted
  bool looked_at = true;  // false: the search was interrupted before a strategy of it was
  bool fits = false, bought = false;
  int nodes = 0, spares = 0, gpus = 0;
  // Where none fits, the strategy that comes nearest, if the search told one, and the keys that it was not to choose.
  std::vector<std::pair<std::string, std::string>> strategy;
  Prediction prediction;
  std::vector<std::string> given;
  Goodput goodput;
  double time_s = 0, time_low_s = 0, time_high_s = 0;  // mean at the predicted step time; 80 % interval of everything
  double cost = 0, cost_low = 0, cost_high = 0;
  double outlay = 0;    // bought: of all its nodes at once; `cost` is this run's share
  double energy_j = 0;  // 0: the node's power is unknown
  double tokens_per_dollar = 0;
  std::optional<double> chance_in_time;
  bool in_time = true, in_budget = true;  // in nine runs of ten
  bool in_outlay = true;
  bool tight = false;     // its strategy fits with hardly anything to spare (sim/memory/tight.h)
  bool on_front = false;  // none is faster and cheaper
  std::string price_of;   // "h100-sxm"
  double price = 0;       // of a GPU for an hour; bought: of a node

  bool has_nearest() const { return !fits && !strategy.empty(); }
  bool known() const { return fits && refused.empty(); }  // it runs, and what it costs was worked out
};

/// A change of one figure that makes another candidate the recommended one.
struct Flip {
  enum class Kind { rent, price, deadline, budget, outlay } kind = Kind::rent;
  std::string of;      // whose rent or price
  bool below = true;   // else above
  double value = 0;    // of that figure
  double now = 0;      // the figure as it is; 0: there is none
  std::string winner;  // empty: none would do
};

/// All clusters with uplinks half as many.
struct SpineCheck {
  double oversubscription = 0, slower = 1;  // of the recommended one: its uplinks then, its step over the present one
  std::string winner;                       // empty: none would do
};

struct BreakEven {
  std::string of;              // a node
  double rent = 0, price = 0;  // of a GPU for an hour; of a node
  double hours = 0;            // of use at which owning and renting cost the same; 0: never
  double life_hours = 0;

  bool operator==(const BreakEven&) const = default;
};

struct PurchaseFigure {
  std::string what, value, date, source;
};

struct Purchase {
  std::string model;
  double tokens = 0;
  std::optional<double> deadline_s, budget, outlay;
  std::string by;                 // cheapest, fastest
  std::vector<PurchaseRow> rows;  // in the order of the candidates
  std::optional<std::size_t> recommended, runner_up;
  std::vector<Flip> flips;
  std::optional<SpineCheck> spine;
  std::vector<BreakEven> break_even;
  std::vector<PurchaseFigure> figures;
  std::vector<std::string> assumptions, notes;
  int runs = 0;
  std::uint64_t seed = 0;
  bool complete = true;  // false: interrupted
};

}  // namespace result
