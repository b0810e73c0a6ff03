// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/purchase.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/fault.h"
#include "sim/economics/choice.h"
#include "sim/economics/completion.h"
#include "sim/economics/cost.h"
#include "sim/economics/figures.h"
#include "sim/economics/flips.h"
#include "sim/economics/found_strategy.h"
#include "sim/economics/run_model.h"

namespace sim {
namespace {

struct BestStrategy {
  std::vector<result::SearchRow> ties;  // the first, and what is within the error of it; none: none fits, or stopped
  std::optional<result::SearchRow> nearest;  // of what does not fit
  std::vector<std::string> given;            // keys that the search did not choose
  std::vector<base::Fault> faults;           // no strategy is sound
};

/// A strategy of a candidate with a number of spares.
struct Trial {
  result::PurchaseRow row;
  PricedOffer offer;
  bool other_spares = false;  // than make it cheapest
};

/// Of those that are possible, the surest, of equals the cheapest; the first where none is.
std::size_t soonest(const std::vector<Offer>& offers) {
  const auto key = [](const Offer& o) { return std::pair(o.time_high, o.cost_high); };
  std::size_t out = 0;
  for (std::size_t i = 1; i < offers.size(); ++i) {
    const bool sooner = !offers[out].possible || key(offers[i]) < key(offers[out]);
    if (offers[i].possible && sooner) out = i;
  }
  return out;
}

/// Not those with hardly any memory to spare, where others have more.
std::vector<result::SearchRow> ties_of(const std::vector<result::SearchRow>& rows) {
  std::vector<result::SearchRow> out;
  for (const result::SearchRow& row : rows) {
    if (out.empty() || row.tied) out.push_back(row);
  }
  if (!std::ranges::all_of(out, &result::SearchRow::tight))
    std::erase_if(out, [](const auto& row) { return row.tight; });
  return out;
}

class Planner {
 public:
  Planner(const spec::Purchase& purchase, const PurchaseOptions& options)
      : p_(purchase), options_(options), wishes_{purchase.deadline, purchase.budget, purchase.outlay} {}

  result::Purchase run() {
    search_clusters();
    for (const spec::Candidate& candidate : p_.candidates) add_row(candidate);
    choose_and_ask_what_if();
    add_break_even();
    tell_the_rest();
    return std::move(out_);
  }

 private:
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed); }
  void search_clusters();
  void add_row(const spec::Candidate&);
  void add_trials(const spec::Candidate&, const result::SearchRow&, const Trial& empty, std::vector<Trial>& out);
  void add_strategy(const spec::Candidate&, const result::SearchRow&, result::PurchaseRow&, PricedOffer&);
  void add_run(const spec::Candidate&, const spec::Job&, result::PurchaseRow&);
  void refuse_beyond_life(result::PurchaseRow& row);
  void add_money(const spec::Candidate&, result::PurchaseRow&);
  void choose_and_ask_what_if();
  void check_spine();
  void add_break_even();
  void tell_the_rest();

  const spec::Purchase& p_;
  const PurchaseOptions& options_;
  const Wishes wishes_;
  std::map<int, BestStrategy> best_;  // by cluster
  std::vector<PricedOffer> offers_;   // by row
  result::Purchase out_;
};

/// Terms do not change the step: each cluster is searched once.
void Planner::search_clusters() {
  bool any_sound = false;
  for (const spec::Candidate& c : p_.candidates) {
    const auto [at, is_new] = best_.try_emplace(c.cluster);
    if (!is_new) continue;
    try {
      const result::Search found = options_.search(c);
      at->second.ties = ties_of(found.results);
      at->second.nearest = found.nearest;
      for (const result::SearchedKey& key : found.space) {
        if (key.given) at->second.given.push_back(key.key);
      }
      any_sound = true;
    } catch (const base::InputError& error) {
      at->second.faults = error.faults;
    }
  }
  if (!any_sound) throw base::InputError(best_.begin()->second.faults);
}

void Planner::add_row(const spec::Candidate& c) {
  const BestStrategy& best = best_.at(c.cluster);
  result::PurchaseRow row;
  row.candidate = c.name;
  row.bought = c.bought;
  row.nodes = c.job.cluster.nodes;
  row.gpus = c.job.cluster.gpus();
  row.price_of = c.bought ? c.price_of : c.rent_of;
  row.price = c.bought ? c.price->value.dollars() : c.rent->value.per_si() * base::kHour;
  PricedOffer offer{c.name, {}, {}, c.bought, row.price_of, row.price};
  offer.offer.possible = false;
  if (!best.faults.empty()) {
    row.refused = best.faults.front().field + ": " + best.faults.front().what;
  } else if (!best.ties.empty()) {
    // What is within the error of the fastest may be the surer: the choice is the plan's own.
    std::vector<Trial> trials;
    for (const result::SearchRow& tie : best.ties) add_trials(c, tie, {row, offer}, trials);
    std::vector<Offer> offers;
    for (const Trial& trial : trials) offers.push_back(trial.offer.offer);
    std::optional<std::size_t> first = choose(offers, wishes_);
    if (!first) {
      for (std::size_t i = 0; i < trials.size(); ++i) offers[i].possible &= !trials[i].other_spares;
      first = soonest(offers);
    }
    Trial& chosen = trials[*first];
    row = std::move(chosen.row);
    offer = std::move(chosen.offer);
  } else if (best.nearest) {
    row.strategy = best.nearest->strategy;
    row.prediction = best.nearest->prediction;
    row.given = best.given;
  } else if (stopped()) {
    row.looked_at = false;
    row.refused = "interrupted before a strategy was looked at";
  }
  offers_.push_back(std::move(offer));
  out_.rows.push_back(std::move(row));
}

/// With the spares that make it cheapest; where it breaks a wish so, with fewer, which are less to buy, and with more,
/// which end it sooner.
void Planner::add_trials(const spec::Candidate& c, const result::SearchRow& found, const Trial& empty,
                         std::vector<Trial>& out) {
  constexpr int kMore = 4;
  const auto add = [&](const spec::Candidate& with) {
    Trial& trial = out.emplace_back(empty);
    add_strategy(with, found, trial.row, trial.offer);
  };
  add(c);
  if (c.spares || !out.back().row.refused.empty() || choose({out.back().offer.offer}, wishes_)) return;
  const int best = out.back().row.spares;
  spec::Candidate with = c;
  for (int spares = 0; spares <= best + kMore && !stopped(); ++spares) {
    if (spares == best) continue;
    if (c.bought && p_.outlay && c.price->value * (c.job.cluster.nodes + spares) > *p_.outlay) break;
    with.spares = spares;
    add(with);
    out.back().other_spares = true;
  }
}

void Planner::add_strategy(const spec::Candidate& c, const result::SearchRow& found, result::PurchaseRow& row,
                           PricedOffer& offer) {
  row.fits = true;
  row.strategy = found.strategy;
  row.prediction = found.prediction;
  row.tight = found.tight;
  add_run(c, job_of(c, row.strategy), row);
  if (c.bought && row.refused.empty()) refuse_beyond_life(row);
  if (!row.refused.empty()) return;
  add_money(c, row);
  offer.cost = running_cost(c, p_.ownership, row.nodes + row.spares);
  offer.offer = {true,
                 base::s(row.time_s),
                 base::s(row.time_high_s),
                 base::usd(row.cost),
                 base::usd(row.cost_high),
                 base::usd(row.outlay)};
  row.in_time = in_time(offer.offer, wishes_);
  row.in_budget = in_budget(offer.offer, wishes_);
  row.in_outlay = in_outlay(offer.offer, wishes_);
}

void Planner::add_run(const spec::Candidate& c, const spec::Job& job, result::PurchaseRow& row) {
  const result::Prediction& step = row.prediction;
  const base::Seconds work = base::s(p_.tokens / step.tokens_per_s);
  RunModel model = run_model(p_, job, step);
  model.spares = c.spares.value_or(1);  // one at least, where they are chosen
  if (hopeless(model, work)) {
    row.refused = words_of_hopeless(model, work);
    return;
  }
  const Runs runs{p_.runs, p_.seed, options_.threads};
  if (!c.spares) model.spares = best_spares(model, row.nodes, work, runs);
  row.spares = model.spares;
  result::Goodput& g = row.goodput;
  g.mtbf_s = 1 / model.failures.si();
  g.checkpoint_bytes = checkpoint_bytes(job).si();
  g.checkpoint_s = model.write.si();
  g.written_beside_s = model.written_beside.si();
  g.interval_s = model.interval.si();
  g.best_interval_s = best_interval(model.write, model.failures).si();
  g.interval_steps = static_cast<std::int64_t>(model.interval / base::s(step.step_time_s) + 0.5);
  g.restart_s = model.restart.si();
  const Completion done = completion(model, work, step, runs, g);
  row.time_s = done.mean.si();
  row.time_low_s = done.low.si();
  row.time_high_s = done.high.si();
  if (p_.deadline) row.chance_in_time = done.chance_by(*p_.deadline);
}

/// What is bought is paid by the share of its life that a run takes.
void Planner::refuse_beyond_life(result::PurchaseRow& row) {
  const spec::Ownership& own = p_.ownership;
  const base::Seconds earning = own.life.value * own.use.value;
  if (base::s(row.time_s) <= earning) return;
  row.refused = fmt::format("takes {:.3g} years, and its nodes last {:.3g} at {:.3g} % of use",
                            row.time_s / base::days(365).si(), own.life.value / base::days(365), 100 * own.use.value);
}

void Planner::add_money(const spec::Candidate& c, result::PurchaseRow& row) {
  const int nodes = row.nodes + row.spares;
  const RunningCost cost = running_cost(c, p_.ownership, nodes);
  row.cost = cost.over(base::s(row.time_s)).dollars();
  row.cost_low = cost.over(base::s(row.time_low_s)).dollars();
  row.cost_high = cost.over(base::s(row.time_high_s)).dollars();
  if (c.bought) row.outlay = c.price->value.dollars() * nodes;
  row.energy_j = (power_of(c, p_.ownership, nodes) * base::s(row.time_s)).si();
  row.tokens_per_dollar = p_.tokens / row.cost;
}

void Planner::choose_and_ask_what_if() {
  std::vector<Offer> offers;
  for (const PricedOffer& o : offers_) offers.push_back(o.offer);
  const std::vector<bool> on_front = front(offers);
  for (std::size_t i = 0; i < out_.rows.size(); ++i) out_.rows[i].on_front = on_front[i];
  out_.recommended = choose(offers, wishes_);
  if (!out_.recommended) return;
  out_.flips = flips(offers_, *out_.recommended, wishes_);
  if (stopped()) std::erase_if(out_.flips, [](const result::Flip& flip) { return flip.winner.empty(); });
  std::vector<Offer> others = offers;
  others[*out_.recommended].possible = false;
  out_.runner_up = choose(others, wishes_);
  check_spine();
}

/// The strategies are kept: a new search could only make the loss smaller.
void Planner::check_spine() {
  std::map<int, double> slower;  // by cluster
  std::vector<Offer> offers;
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    Offer o = offers_[i].offer;
    const spec::Candidate& c = p_.candidates[i];
    if (o.possible && !slower.contains(c.cluster)) {
      slower[c.cluster] = c.job.cluster.nodes > 1 ? slower_with_half_the_uplinks(c, out_.rows[i].strategy) : 1;
    }
    const double factor = o.possible ? slower[c.cluster] : 1;
    o = {o.possible, o.time * factor, o.time_high * factor, o.cost * factor, o.cost_high * factor, o.outlay};
    offers.push_back(o);
  }
  const auto winner = choose(offers, wishes_);
  const spec::Candidate& best = p_.candidates[*out_.recommended];
  out_.spine = {2 * best.job.cluster.fabric.oversubscription, slower[best.cluster],
                winner ? out_.rows[*winner].candidate : ""};
}

void Planner::add_break_even() {
  std::set<std::string> told;
  for (std::size_t i = 0; i < p_.candidates.size(); ++i) {
    const spec::Candidate& c = p_.candidates[i];
    if (!out_.rows[i].known()) continue;  // nobody has to choose terms for it
    if (!c.rent || !c.price || !told.insert(c.price_of + ' ' + c.rent_of).second) continue;
    if (!(c.job.cluster.node.power.si() > 0)) continue;
    const auto time = break_even(c, p_.ownership);
    const result::BreakEven one{c.job.cluster.node.name, c.rent->value.per_si() * base::kHour, c.price->value.dollars(),
                                time ? time->si() / base::kHour : 0, p_.ownership.life.value.si() / base::kHour};
    const bool again = std::ranges::find(out_.break_even, one) != out_.break_even.end();  // another entry, as dear
    if (!again) out_.break_even.push_back(one);
  }
}

void Planner::tell_the_rest() {
  out_.figures = figures_of(p_);
  if (std::string note = note_of_sellers(p_); !note.empty()) out_.notes.push_back(std::move(note));
  out_.model = p_.model.name;
  out_.tokens = p_.tokens;
  if (p_.deadline) out_.deadline_s = p_.deadline->si();
  if (p_.budget) out_.budget = p_.budget->dollars();
  if (p_.outlay) out_.outlay = p_.outlay->dollars();
  out_.by = wishes_.fastest() ? "fastest" : "cheapest";
  out_.assumptions = p_.assumptions;
  if (!p_.failures.stragglers)
    out_.assumptions.emplace_back("stragglers: none beyond the spread of boards in the step itself");
  out_.runs = p_.runs;
  out_.seed = p_.seed;
  out_.complete = !stopped();
}

}  // namespace

result::Purchase plan_purchase(const spec::Purchase& purchase, const PurchaseOptions& options) {
  return Planner(purchase, options).run();
}

}  // namespace sim
