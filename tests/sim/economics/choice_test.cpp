// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/choice.h"

#include <gtest/gtest.h>

#include "sim/economics/flips.h"
#include "sim/economics/random.h"

namespace {

using namespace base;
using result::Flip;
using sim::Offer;
using sim::Wishes;

Offer offer(double in_days, double dollars) {
  return {true, days(in_days), days(in_days * 1.2), usd(dollars), usd(dollars * 1.2)};
}

const std::vector<Offer> kThree{offer(10, 900), offer(20, 600), offer(40, 500)};

TEST(Choice, WithoutWishesTheCheapestIsTaken) { EXPECT_EQ(sim::choose(kThree, {}), 2u); }

TEST(Choice, ADeadlineIsKeptInNineRunsOfTen) {
  // The third takes up to 48 days in nine of ten, the second up to 24.
  EXPECT_EQ(sim::choose(kThree, {days(48), {}}), 2u);
  EXPECT_EQ(sim::choose(kThree, {days(47.9), {}}), 1u);
  EXPECT_EQ(sim::choose(kThree, {days(23.9), {}}), 0u);
  EXPECT_EQ(sim::choose(kThree, {days(11.9), {}}), std::nullopt);
}

TEST(Choice, ABudgetAloneBuysSpeed) {
  // The first costs up to $1080, the second up to $720.
  EXPECT_EQ(sim::choose(kThree, {{}, usd(1080)}), 0u);
  EXPECT_EQ(sim::choose(kThree, {{}, usd(1079)}), 1u);
  EXPECT_EQ(sim::choose(kThree, {{}, usd(599)}), std::nullopt);
}

TEST(Choice, OfEquallyFastOnesTheCheaperIsTakenAndOfEquallyDearOnesTheFaster) {
  // Rented and bought, the same nodes take the same time.
  const std::vector<Offer> offers{offer(10, 900), offer(10, 300), offer(8, 300)};
  EXPECT_EQ(sim::choose({offers[0], offers[1]}, {{}, usd(5000)}), 1u);
  EXPECT_EQ(sim::choose({offers[1], offers[2]}, {}), 1u);
}

TEST(Choice, WithBothTheCheapestInTimeIsTaken) {
  EXPECT_EQ(sim::choose(kThree, {days(30), usd(5000)}), 1u);
  EXPECT_EQ(sim::choose(kThree, {days(30), usd(700)}), std::nullopt);
}

TEST(Choice, AnOutlayIsOfWhatIsBoughtAlone) {
  // The third is the cheapest and takes $900 at once, the second is rented.
  std::vector<Offer> offers = kThree;
  offers[2].outlay = usd(900);
  EXPECT_EQ(sim::choose(offers, {{}, {}, usd(900)}), 2u);
  EXPECT_EQ(sim::choose(offers, {{}, {}, usd(899)}), 1u);
}

TEST(Choice, TheFrontHoldsWhatNoneBeatsInBoth) {
  std::vector<Offer> offers = kThree;
  offers.push_back(offer(20, 601));                    // as fast as the second, dearer
  offers.push_back(offer(20, 600));                    // its equal
  offers.push_back({false, days(1), {}, usd(1), {}});  // impossible
  EXPECT_EQ(sim::front(offers), (std::vector<bool>{true, true, true, false, true, false}));
}

/// Rented clusters of `gpus` GPUs for so many days, at a price an hour.
sim::PricedOffer rented(const std::string& name, const std::string& whose, double price, int gpus, double in_days) {
  sim::PricedOffer out;
  out.name = name;
  out.price_of = whose;
  out.price = price;
  out.cost = {usd_per_hour(price) * gpus, {}};
  out.offer = {true, days(in_days), days(in_days * 1.2), out.cost.over(days(in_days)),
               out.cost.over(days(in_days * 1.2))};
  return out;
}

TEST(Flips, ARentTiesWhereTheCostsAreEqual) {
  // a: 100 GPUs x 240 h x $4 = $96,000. b: 200 x 240 x $3 = $144,000, so that b ties at $96,000 / 48,000 h = $2, and a
  // at $144,000 / 24,000 h = $6.
  const std::vector<sim::PricedOffer> offers{rented("a", "A", 4, 100, 10), rented("b", "B", 3, 200, 10)};
  const std::vector<Flip> flips = sim::flips(offers, 0, {});
  ASSERT_EQ(flips.size(), 3u);
  EXPECT_EQ(flips[0].of, "B");
  EXPECT_TRUE(flips[0].below);
  EXPECT_NEAR(flips[0].value, 2, 1e-9);
  EXPECT_EQ(flips[0].winner, "b");
  EXPECT_EQ(flips[1].of, "A");
  EXPECT_FALSE(flips[1].below);
  EXPECT_NEAR(flips[1].value, 6, 1e-9);
  EXPECT_EQ(flips[1].winner, "b");
  EXPECT_EQ(flips[2].kind, Flip::Kind::deadline);  // 12 days in nine runs of ten, and b is no faster
  EXPECT_NEAR(flips[2].value, days(12).si(), 1);
  EXPECT_EQ(flips[2].winner, "");
}

TEST(Flips, WhereSpeedIsBoughtEquallyFastOnesCompeteByCost) {
  // a: 100 GPUs x 240 h x $4 = $96,000. b, as fast, costs $48,000: 200 GPUs x 240 h x $1. They tie where A is $2 or B
  // $2; with a budget of $200,000 either way.
  const std::vector<sim::PricedOffer> offers{rented("a", "A", 4, 100, 10), rented("b", "B", 1, 200, 10)};
  const Wishes wishes{{}, usd(200e3)};
  ASSERT_EQ(sim::choose({offers[0].offer, offers[1].offer}, wishes), 1u);
  const std::vector<Flip> flips = sim::flips(offers, 1, wishes);
  ASSERT_EQ(flips.size(), 3u);
  EXPECT_NEAR(flips[0].value, 2, 1e-9);
  EXPECT_TRUE(flips[0].below);
  EXPECT_EQ(flips[0].winner, "a");
  EXPECT_NEAR(flips[1].value, 2, 1e-9);
  EXPECT_FALSE(flips[1].below);
  EXPECT_EQ(flips[1].winner, "a");
  EXPECT_EQ(flips[2].kind, Flip::Kind::budget);
}

TEST(Flips, MoreMoneyMayBuyAnEquallyFastOneThatCostsLessOnAverage) {
  // a, as fast as b and cheaper, may cost $130,000 in nine runs of ten: too much for a budget of $125,000.
  std::vector<sim::PricedOffer> offers{rented("a", "A", 4, 100, 10), rented("b", "B", 4, 110, 10)};
  offers[0].offer.cost_high = usd(130e3);
  offers[1].offer.cost_high = usd(120e3);
  const Wishes wishes{{}, usd(125e3)};
  ASSERT_EQ(sim::choose({offers[0].offer, offers[1].offer}, wishes), 1u);
  const std::vector<Flip> flips = sim::flips(offers, 1, wishes);
  ASSERT_FALSE(flips.empty());
  EXPECT_EQ(flips.back().kind, Flip::Kind::budget);
  EXPECT_NEAR(flips.back().value, 130e3, 1e-6);
  EXPECT_EQ(flips.back().winner, "a");
}

TEST(Flips, ALaterDeadlineLetsTheCheaperOneIn) {
  // b: 100 GPUs for 20 days of the same rent costs less than a: 250 for 10, but is sure only within 24 days.
  const std::vector<sim::PricedOffer> offers{rented("a", "A", 4, 250, 10), rented("b", "A", 4, 100, 20)};
  const std::vector<Flip> flips = sim::flips(offers, 0, {days(15), {}});
  ASSERT_EQ(flips.size(), 2u);
  EXPECT_NEAR(flips[0].value, days(12).si(), 1);
  EXPECT_NEAR(flips[1].value, days(24).si(), 1e-3);
  EXPECT_FALSE(flips[1].below);
  EXPECT_EQ(flips[1].winner, "b");
}

TEST(Flips, AnOutlayThatIsTooLargeFallsWithThePrice) {
  // b, bought, is cheaper than a ($96,000) and takes $90,000 at once, where $60,000 are there: at two thirds of its
  // price of $30,000 a node it does, or with $90,000.
  std::vector<sim::PricedOffer> offers{rented("a", "A", 4, 100, 10), rented("b", "B", 1, 100, 10)};
  offers[1].bought = true;
  offers[1].price = 30e3;
  offers[1].offer.outlay = usd(90e3);
  const std::vector<Flip> flips = sim::flips(offers, 0, {{}, {}, usd(60e3)});
  ASSERT_EQ(flips.size(), 3u);
  EXPECT_EQ(flips[0].kind, Flip::Kind::price);
  EXPECT_NEAR(flips[0].value, 20e3, 1e-6);
  EXPECT_EQ(flips[0].winner, "b");
  EXPECT_EQ(flips[1].kind, Flip::Kind::deadline);
  EXPECT_EQ(flips[2].kind, Flip::Kind::outlay);
  EXPECT_FALSE(flips[2].below);
  EXPECT_NEAR(flips[2].value, 90e3, 1e-6);
  EXPECT_EQ(flips[2].winner, "b");
}

void set_price(sim::PricedOffer& o, double price) {
  o.offer.outlay = o.offer.outlay * (price / o.price);
  o.cost.of_price = o.cost.of_price * (price / o.price);
  o.price = price;
  o.offer.cost = o.cost.over(o.offer.time);
  o.offer.cost_high = o.cost.over(o.offer.time_high);
}

std::string chosen(const std::vector<sim::PricedOffer>& all, const Wishes& wishes) {
  std::vector<Offer> offers;
  for (const sim::PricedOffer& o : all) offers.push_back(o.offer);
  const auto at = sim::choose(offers, wishes);
  return at ? all[*at].name : "";
}

/// Who is chosen when the figure of the flip has this value.
std::string chosen_at(std::vector<sim::PricedOffer> all, Wishes wishes, const Flip& flip, double value) {
  if (flip.kind == Flip::Kind::deadline) wishes.deadline = s(value);
  if (flip.kind == Flip::Kind::budget) wishes.budget = usd(value);
  if (flip.kind == Flip::Kind::outlay) wishes.outlay = usd(value);
  for (sim::PricedOffer& o : all) {
    const bool prices = flip.kind == Flip::Kind::rent || flip.kind == Flip::Kind::price;
    if (prices && o.price_of == flip.of && o.bought == (flip.kind == Flip::Kind::price)) set_price(o, value);
  }
  return chosen(all, wishes);
}

TEST(Flips, JustBeyondEachItsWinnerIsChosenAndJustBeforeItIsNot) {
  sim::Random dice(17, 0);
  int seen = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<sim::PricedOffer> all;
    for (int k = 0; k < 6; ++k) {
      const std::string whose(1, static_cast<char>('A' + static_cast<int>(3 * dice.uniform())));
      all.push_back(rented(std::string(1, static_cast<char>('a' + k)), whose,
                           whose == "A"   ? 2
                           : whose == "B" ? 3
                                          : 5,
                           static_cast<int>(50 + 200 * dice.uniform()), 5 + 20 * dice.uniform()));
      all.back().bought = dice.uniform() < 0.3;
      if (all.back().bought) all.back().cost.beside = usd_per_hour(50 * dice.uniform());
      if (all.back().bought) all.back().offer.outlay = usd(100e3 + 400e3 * dice.uniform());
      set_price(all.back(), all.back().price);
    }
    Wishes wishes;
    if (i % 3 != 0) wishes.deadline = days(10 + 20 * dice.uniform());
    if (i % 3 != 1) wishes.budget = usd(50e3 + 200e3 * dice.uniform());
    if (i % 2 != 1) wishes.outlay = usd(100e3 + 400e3 * dice.uniform());
    std::vector<Offer> offers;
    for (const sim::PricedOffer& o : all) offers.push_back(o.offer);
    const auto best = sim::choose(offers, wishes);
    if (!best) continue;
    for (const Flip& flip : sim::flips(all, *best, wishes)) {
      ++seen;
      const double beyond = flip.value * (flip.below ? 1 - 1e-6 : 1 + 1e-6),
                   before = flip.value * (flip.below ? 1 + 1e-6 : 1 - 1e-6);
      EXPECT_EQ(chosen_at(all, wishes, flip, beyond), flip.winner) << i << ' ' << flip.of << ' ' << flip.value;
      EXPECT_NE(chosen_at(all, wishes, flip, before), flip.winner) << i << ' ' << flip.of << ' ' << flip.value;
    }
  }
  EXPECT_GT(seen, 300);
}

}  // namespace
