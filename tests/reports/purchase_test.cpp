// tests/reports/purchase_test.cpp -- the answer in words, of round numbers. SPDX-License-Identifier: Apache-2.0
#include "reports/purchase.h"

#include <gtest/gtest.h>

#include "core/base/money.h"
#include "tests/reports/purchase_sample.h"
#include "tests/reports/view.h"

namespace {

using result::Flip;
using result::Purchase;

Purchase sample() { return sample::purchase(); }

TEST(PurchaseReport, TheRecommendationSaysWhyAndWhatMayGoWrong) {
  EXPECT_EQ(reports::recommendation(sample()),
            "Take a: the cheapest of 2 that finish within 60.0 days in nine runs of ten, of 3 candidates. Next\n"
            "     comes b: cost 33 % more, time 50 % shorter.\n"
            "Risk: 80 % chance to finish in 36.0 to 44.0 days and to cost $2.70M to $3.30M. 99.4 % of runs end\n"
            "      within 60.0 days. Failures stop it 4 times, once in 10.0 days; 95.0 % of the time is training\n"
            "      that counts.\n");
}

TEST(PurchaseReport, AnInterruptedPlanSpeaksOfWhatWasLookedAt) {
  Purchase p = sample();
  p.complete = false;
  const auto interrupt = [&](std::size_t row) {
    result::PurchaseRow unknown;
    unknown.candidate = p.rows[row].candidate;
    unknown.refused = "interrupted before a strategy was looked at";
    unknown.looked_at = false;
    p.rows[row] = unknown;
  };
  interrupt(2);
  EXPECT_NE(reports::recommendation(p).find("Take a: the cheapest of 2 that finish within 60.0 days in nine runs of "
                                            "ten. Next"),
            std::string::npos)
      << reports::recommendation(p);
  interrupt(1);
  p.runner_up.reset();
  EXPECT_TRUE(
      reports::recommendation(p).starts_with("Take a: the only one of 3 candidates that was looked at.\nRisk"))
      << reports::recommendation(p);
  const std::string text = reports::text(p);
  EXPECT_EQ(text.find("refused"), text.npos) << text;
  EXPECT_LT(text.find("Interrupted"), text.find("Take a")) << text;
  interrupt(0);
  p.recommended.reset();
  EXPECT_NE(reports::recommendation(p).find("no candidate that was looked at can train this model."), std::string::npos)
      << reports::recommendation(p);
}

TEST(PurchaseReport, WhatBuyingTakesAtOnceIsSaid) {
  Purchase p = sample();
  p.rows[0].nodes = 16;
  p.rows[0].outlay = 8.24e6;
  const std::string text = reports::recommendation(p);
  EXPECT_NE(text.find("Its 16 nodes take $8.24M to buy;"), text.npos) << text;
}

TEST(PurchaseReport, AnOutlayAboveTheBudgetIsSaidAndMarkedUnlessItIsLimited) {
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != text.npos; };
  const reports::Style wide{.columns = 140, .colour = false};
  Purchase p = sample();
  p.budget = 4e6;
  p.rows[0].nodes = 16;
  p.rows[0].outlay = 4.96e6;
  std::string choice = reports::reasons(p).front();
  EXPECT_TRUE(has(choice, "Its 16 nodes take $4.96M to buy, more than the budget of $4.00M (--outlay limits it);"))
      << choice;
  EXPECT_TRUE(has(reports::text(p, wide), "95.0 %  outlay above the budget\n"));
  p.outlay = 5e6;
  choice = reports::reasons(p).front();
  EXPECT_TRUE(has(choice, "finish within 60.0 days and $4.00M and take at most $5.00M to buy")) << choice;
  EXPECT_TRUE(has(choice, "Its 16 nodes take $4.96M to buy; the cost")) << choice;
  EXPECT_TRUE(has(reports::text(p, wide), "within 60.0 days, for at most $4.00M, buying for at most $5.00M\n"));
  EXPECT_FALSE(has(reports::text(p, wide), "outlay above"));
  p.rows[1].in_outlay = false;
  EXPECT_TRUE(has(reports::text(p, wide), "95.0 %  too much at once\n"));
}

TEST(PurchaseReport, ALongNameStaysOnItsLine) {
  Purchase p = sample();
  p.rows[1].candidate = "16 x dgx-h200, bought";
  const std::string text = reports::text(p);
  EXPECT_NE(text.find("\n   16 x dgx-h200, bought  256 "), text.npos) << text;
  testing_support::expect_fits([&](const reports::Style& s) { return reports::text(p, s); });
}

TEST(PurchaseReport, WhatHardlyFitsIsMarkedAndTheMarkExplained) {
  Purchase p = sample();
  p.rows[1].tight = true;
  const std::string text = reports::text(p);
  EXPECT_NE(text.find("95.0 %  tight\n"), text.npos) << text;
  EXPECT_NE(text.find("\n   tight: so near to all of the memory"), text.npos) << text;
}

TEST(PurchaseReport, NotesStandBehindTheRecommendation) {
  Purchase p = sample();
  p.notes = {"megatron cannot say the best strategy of a (schedule zb-h1)"};
  EXPECT_NE(reports::text(p).find("that counts.\n\nmegatron cannot say"), std::string::npos) << reports::text(p);
}

TEST(PurchaseReport, WhereNoneWillDoTheNearestAreNamed) {
  Purchase p = sample();
  p.recommended.reset();
  p.deadline_s = 10 * base::kDay;
  EXPECT_EQ(reports::recommendation(p),
            "None: no candidate will finish within 10.0 days in nine runs of ten. The soonest, b, is sure within\n"
            "      22.0 days for $4.40M; the cheapest, c, within 110 days for $2.20M.\n");
  // Twice as many finish within 11 days, four times as many within 5.5.
  p.rows[1].in_time = false;
  p.rows[1].nodes = 16;
  EXPECT_NE(reports::recommendation(p).find("By its pace 64 nodes may\n      do: try them, too."), std::string::npos)
      << reports::recommendation(p);
}

TEST(PurchaseReport, OfTwoThatAreAsSoonTheCheaperIsNamed) {
  Purchase p = sample();
  p.recommended.reset();
  p.deadline_s = 10 * base::kDay;
  p.rows[2] = sample::purchase_row("c", 20, 3.5e6);  // b takes 20 days for $4.0M
  EXPECT_NE(reports::recommendation(p).find("The soonest, c, is sure within\n      22.0 days for $3.85M;"),
            std::string::npos)
      << reports::recommendation(p);
}

TEST(PurchaseReport, EachFlipIsALine) {
  Purchase p = sample();
  p.flips = {{Flip::Kind::rent, "h100-sxm", true, 2.1, 3, "b"},
             {Flip::Kind::price, "dgx-b200", false, 600e3, 515e3, "b"},
             {Flip::Kind::deadline, "", true, 44 * base::kDay, 60 * base::kDay, ""}};
  p.spine = result::SpineCheck{2, 1.25, "b"};
  EXPECT_EQ(reports::flips_text(p),
            "  - rent of h100-sxm below $2.10/h (now $3.00/h): b\n"
            "  - price of dgx-b200 above $600k (now $515k): b\n"
            "  - deadline below 44.0 days (now 60.0 days): none will do\n"
            "  - uplinks of every fabric halved (2:1): b (its step takes 25 % longer)\n");
}

TEST(PurchaseReport, APriceOfItsOwnIsNamedAsTheTableNamesItsCandidates) {
  Purchase p = sample();
  p.rows[0].candidate = "16 x dgx-h100, $2.50/h";
  p.rows[1].candidate = "32 x dgx-h100, $2.50/h";
  p.rows[0].price_of = "candidates[0]";
  p.rows[2].price_of = "candidates[1]";
  EXPECT_EQ(reports::figure_name(p, "rent of candidates[0]"), "rent of 16 x dgx-h100, $2.50/h");
  p.rows[1].price_of = "candidates[0]";
  EXPECT_EQ(reports::figure_name(p, "rent of candidates[0]"),
            "rent of 16 x dgx-h100, $2.50/h and 32 x dgx-h100, $2.50/h");
  p.rows[2].price_of = "candidates[0]";
  EXPECT_EQ(reports::figure_name(p, "rent of candidates[0]"), "rent of 16 x dgx-h100, $2.50/h and 2 more");
  EXPECT_EQ(reports::figure_name(p, "price of candidates[0]"), "price of candidates[0]");  // none of these is bought
  EXPECT_EQ(reports::figure_name(p, "rent of h100-sxm"), "rent of h100-sxm");
  p.flips = {{Flip::Kind::rent, "candidates[0]", true, 1.31, 2.5, "c"}};
  EXPECT_EQ(reports::flips_text(p), "  - rent of 16 x dgx-h100, $2.50/h and 2 more below $1.31/h (now $2.50/h): c\n");
}

TEST(PurchaseReport, WhereAllAreRefusedNothingIsSaidOfStrategiesAndFailures) {
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != text.npos; };
  Purchase p = sample();
  p.recommended.reset();
  p.runner_up.reset();
  for (result::PurchaseRow& row : p.rows) row.refused = "fails every 3.00 s, before anything is saved";
  const std::string text = reports::text(p);
  for (const char* part : {"Best strategies", "\nFailures", "> recommended", "can train this model"}) {
    EXPECT_FALSE(has(text, part)) << part << '\n' << text;
  }
  EXPECT_FALSE(has(text, "tokens/$")) << text;  // no title above nothing
  EXPECT_TRUE(has(text, "refused: fails every 3.00 s, before anything is saved")) << text;
  EXPECT_TRUE(has(text, "None: no candidate that fits can finish this run: ")) << text;
  for (result::PurchaseRow& row : p.rows) row.fits = false;
  EXPECT_TRUE(has(reports::text(p), "None: no candidate can train this model.")) << reports::text(p);
}

TEST(PurchaseReport, WhereNothingFitsTheNearestAndWhatStandsInItsWayAreTold) {
  Purchase p = sample();
  p.recommended.reset();
  p.runner_up.reset();
  std::int64_t peak = 100'000'000'000;
  for (result::PurchaseRow& row : p.rows) {
    row.fits = false;
    row.strategy = {{"tp", "1"},   {"cp", "1"},          {"pp", "1"},          {"dp", "8"},
                    {"zero", "1"}, {"micro_batch", "1"}, {"recompute", "none"}};
    row.prediction.peak_bytes = peak += 10'000'000'000;
    row.prediction.capacity_bytes = 80'000'000'000;
    row.prediction.mends = {"--zero 2", "--tp 2 --dp 16 --sp", "--sp --set strategy.offload.optimizer=cpu"};
    row.given = {"tp", "cp", "zero"};
  }
  const std::vector<std::string> told = reports::reasons(p);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(
      told[0],
      "no candidate can train this model. Nearest comes a with tp 1, dp 8, zero 1, micro_batch 1, recompute none: "
      "110 GB needed, 80.0 GB there (30.0 GB too much). It fits with zero=2, tp=2 dp=16 sp=true or sp=true "
      "strategy.offload.optimizer=cpu. The search was not to choose tp and zero: --fix, --allow or the plan give "
      "them.");
  const std::string text = reports::text(p);
  EXPECT_NE(text.find("no strategy fits: 120 GB needed, 80.0 GB there (40.0 GB too much)"), text.npos) << text;
}

TEST(PurchaseReport, IsWhatIsPrinted) {
  testing_support::expect_view("plan.txt", [](const reports::Style& s) { return reports::text(sample(), s); });
  testing_support::expect_golden("plan_in_colour.txt", reports::text(sample(), {.columns = 72, .colour = true}));
}

TEST(PurchaseReport, TheTableMarksTheChoiceAndTheFront) {
  Purchase p = sample();
  p.rows[1].on_front = true;
  const std::string text = reports::text(p);
  EXPECT_NE(text.find("\n>  a "), text.npos) << text;
  EXPECT_NE(text.find("\n * b "), text.npos) << text;
  EXPECT_NE(text.find("too late\n"), text.npos) << text;
}

TEST(PurchaseReport, TimesHaveTheirUnit) {
  EXPECT_EQ(reports::days_text(41.26 * base::kDay), "41.3 days");
  EXPECT_EQ(reports::days_text(400 * base::kDay), "400 days");
  EXPECT_EQ(reports::days_text(5.25 * base::kHour), "5.2 hours");
  EXPECT_EQ(reports::days_text(90), "1.5 minutes");
}

}  // namespace
