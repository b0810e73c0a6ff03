// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/flips.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sim {
namespace {

using result::Flip;
using PriceKey = std::pair<bool, std::string>;  // bought, whose

PriceKey key_of(const PricedOffer& o) { return {o.bought, o.price_of}; }
Flip::Kind kind_of(const PricedOffer& o) { return o.bought ? Flip::Kind::price : Flip::Kind::rent; }

std::vector<Offer> offers_of(const std::vector<PricedOffer>& all) {
  std::vector<Offer> out;
  for (const PricedOffer& o : all) out.push_back(o.offer);
  return out;
}

class Flips {
 public:
  Flips(const std::vector<PricedOffer>& all, std::size_t best, const Wishes& wishes)
      : all_(all), best_(all[best]), wishes_(wishes) {}

  std::vector<Flip> run() {
    std::set<PriceKey> others;
    for (const PricedOffer& o : all_) {
      if (o.offer.possible && key_of(o) != key_of(best_)) others.insert(key_of(o));
    }
    for (const PriceKey& key : others) cheaper_other(key);
    dearer_best();
    wishes_.fastest() ? other_budget() : other_deadline();
    if (wishes_.outlay) other_outlay();
    return std::move(out_);
  }

 private:
  /// What `o` may cost at most to be chosen in place of the best, as a multiple of its price.
  double winning_factor(const PricedOffer& o) const {
    const bool faster = wishes_.fastest() && o.offer.time < best_.offer.time;
    double most = faster ? 1e300 : o.cost.price_factor(best_.offer.cost, o.offer.time);
    if (wishes_.budget) most = std::min(most, o.cost.price_factor(*wishes_.budget, o.offer.time_high));
    return std::min(most, outlay_factor(o));
  }

  /// What it may cost at most for the outlay to be kept: that grows with the price.
  double outlay_factor(const PricedOffer& o) const {
    return wishes_.outlay && o.offer.outlay > base::Money() ? *wishes_.outlay / o.offer.outlay : 1e300;
  }

  bool could_win(const PricedOffer& o) const {
    return o.offer.possible && in_time(o.offer, wishes_) && (!wishes_.fastest() || o.offer.time <= best_.offer.time);
  }

  void cheaper_other(const PriceKey& key) {
    const PricedOffer* winner = nullptr;
    double most = 0;
    for (const PricedOffer& o : all_) {
      if (key_of(o) != key || !could_win(o)) continue;
      const double factor = winning_factor(o);
      if (factor <= most || factor > 1) continue;
      most = factor;
      winner = &o;
    }
    if (winner == nullptr) return;
    out_.push_back({kind_of(*winner), key.second, true, winner->price * most, winner->price, winner->name});
  }

  /// All that have the best one's price get dearer with it, so that the next is of another price, or none.
  void dearer_best() {
    std::vector<Offer> others = offers_of(all_);
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (key_of(all_[i]) == key_of(best_)) others[i].possible = false;
    }
    const auto next = choose(others, wishes_);
    double factor = 1e300;
    const bool slower = next && wishes_.fastest() && all_[*next].offer.time > best_.offer.time;
    if (next && !slower) factor = best_.cost.price_factor(all_[*next].offer.cost, best_.offer.time);
    if (wishes_.budget) {
      factor = std::min(factor, best_.cost.price_factor(*wishes_.budget, best_.offer.time_high));
    }
    factor = std::min(factor, outlay_factor(best_));
    if (factor > 1e299) return;
    out_.push_back({kind_of(best_), best_.price_of, false, best_.price * factor, best_.price,
                    winner_at(best_.price * factor * (1 + 1e-9))});
  }

  /// Who is chosen when the price of the best is this.
  std::string winner_at(double price) const {
    std::vector<Offer> offers = offers_of(all_);
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (key_of(all_[i]) != key_of(best_)) continue;
      RunningCost cost = all_[i].cost;
      cost.of_price = cost.of_price * (price / best_.price);
      offers[i].cost = cost.over(offers[i].time);
      offers[i].cost_high = cost.over(offers[i].time_high);
      offers[i].outlay = offers[i].outlay * (price / best_.price);
    }
    const auto winner = choose(offers, wishes_);
    return winner ? all_[*winner].name : "";
  }

  /// Of the possible offers that are `better`, the one that asks least of what a wish bounds; none: nullptr.
  template <class Quantity, class Better>
  const PricedOffer* least(Quantity Offer::*asked, const Better& better) const {
    const PricedOffer* out = nullptr;
    for (const PricedOffer& o : all_) {
      if (!o.offer.possible || !better(o.offer)) continue;
      if (out == nullptr || o.offer.*asked < out->offer.*asked) out = &o;
    }
    return out;
  }

  /// Sooner than the best is sure to end, another has to do it; later, a cheaper one may.
  void other_deadline() {
    const double now = wishes_.deadline ? wishes_.deadline->si() : 0;
    Wishes sooner = wishes_;
    sooner.deadline = best_.offer.time_high * (1 - 1e-9);
    const auto next = choose(offers_of(all_), sooner);
    out_.push_back({Flip::Kind::deadline, "", true, best_.offer.time_high.si(), now, next ? all_[*next].name : ""});
    if (!wishes_.deadline) return;
    const PricedOffer* later = least(&Offer::time_high, [&](const Offer& o) {
      return in_budget(o, wishes_) && in_outlay(o, wishes_) && better(o, best_.offer, wishes_);
    });
    if (later == nullptr) return;
    out_.push_back({Flip::Kind::deadline, "", false, later->offer.time_high.si(), now, later->name});
  }

  /// The same of a budget when speed is what it buys.
  void other_budget() {
    const double now = wishes_.budget->dollars();
    Wishes less = wishes_;
    less.budget = best_.offer.cost_high * (1 - 1e-9);
    const auto next = choose(offers_of(all_), less);
    out_.push_back({Flip::Kind::budget, "", true, best_.offer.cost_high.dollars(), now, next ? all_[*next].name : ""});
    const PricedOffer* more = least(
        &Offer::cost_high, [&](const Offer& o) { return in_outlay(o, wishes_) && better(o, best_.offer, wishes_); });
    if (more == nullptr) return;
    out_.push_back({Flip::Kind::budget, "", false, more->offer.cost_high.dollars(), now, more->name});
  }

  /// Less money at once than the best takes, where it is bought; more, where that buys a better one.
  void other_outlay() {
    const double now = wishes_.outlay->dollars();
    if (best_.offer.outlay > base::Money()) {
      Wishes less = wishes_;
      less.outlay = best_.offer.outlay * (1 - 1e-9);
      const auto next = choose(offers_of(all_), less);
      out_.push_back({Flip::Kind::outlay, "", true, best_.offer.outlay.dollars(), now, next ? all_[*next].name : ""});
    }
    const PricedOffer* more = least(&Offer::outlay, [&](const Offer& o) {
      return better(o, best_.offer, wishes_) && in_time(o, wishes_) && in_budget(o, wishes_);
    });
    if (more == nullptr) return;
    out_.push_back({Flip::Kind::outlay, "", false, more->offer.outlay.dollars(), now, more->name});
  }

  const std::vector<PricedOffer>& all_;
  const PricedOffer& best_;
  const Wishes& wishes_;
  std::vector<Flip> out_;
};

}  // namespace

std::vector<result::Flip> flips(const std::vector<PricedOffer>& all, std::size_t best, const Wishes& wishes) {
  return Flips(all, best, wishes).run();
}

}  // namespace sim
