// tests/sim/economics/purchase_test.cpp -- a whole plan over a search that answers at once. The step is made up; the
// money, the chances and the choice are checked against it. SPDX-License-Identifier: Apache-2.0
#include "sim/economics/purchase.h"

#include <gtest/gtest.h>

#include "core/base/fault.h"
#include "core/config/purchase_reader.h"

namespace {

using base::kDay;

spec::Purchase purchase_of(const std::string& rest) {
  const std::string text =
      "model: llama3-8b\ntokens: 1e12\ntraining: {sequence: 8192, global_batch: 128}\nruns: 200\n" + rest;
  return config::read_purchase(config::parse(text, "plan.yaml"), config::Catalogue(FORERUN_SOURCE_DIR));
}

/// 20,000 tokens a second and GPU, 1 Mi tokens a step, known within 10 %.
class MadeUpSearch {
 public:
  result::Search operator()(const spec::Candidate& candidate) {
    const spec::Job& job = candidate.job;
    ++calls;
    if (job.cluster.nodes > 64) throw base::InputError({{"training.global_batch", "is too small", "write more", {}}});
    result::Search out;
    if (job.cluster.nodes == 1) return out;  // nothing fits
    result::SearchRow& row = out.results.emplace_back();
    row.strategy = {{"tp", "1"}, {"pp", "1"}, {"dp", std::to_string(job.cluster.gpus())}, {"micro_batch", "1"}};
    result::Prediction& p = row.prediction;
    p.gpus = job.cluster.gpus();
    p.tokens_per_s = 20e3 * p.gpus;
    p.step_time_s = 128 * 8192 / p.tokens_per_s;
    p.step_time_low_s = p.step_time_s / 1.1;
    p.step_time_high_s = p.step_time_s * 1.1;
    return out;
  }
  int calls = 0;
};

result::Purchase answer_to(const std::string& rest, MadeUpSearch* search = nullptr) {
  MadeUpSearch own;
  sim::PurchaseOptions options;
  options.search = std::ref(search != nullptr ? *search : own);
  options.threads = 1;
  return sim::plan_purchase(purchase_of(rest), options);
}

TEST(PurchasePlan, DaysAndMoneyFollowFromTheStep) {
  // 64 GPUs: 1e12 / 1.28e6 = 781,250 s = 9.04 days without failures; without a spare at $2 an hour for a GPU.
  const result::Purchase p = answer_to("candidates: [{node: dgx-h100, nodes: 8, rent: $2/h, spares: 0}]\n");
  ASSERT_EQ(p.rows.size(), 1u);
  const result::PurchaseRow& row = p.rows[0];
  EXPECT_NEAR(row.time_s * row.goodput.goodput, 781'250, 1e-6);
  EXPECT_NEAR(row.cost, row.time_s / 3600 * 64 * 2, 1e-6);
  EXPECT_NEAR(row.energy_j, row.time_s * 8 * 10.2e3 * 1.54, 1);
  EXPECT_NEAR(row.tokens_per_dollar, 1e12 / row.cost, 1e-3);
  // 64 / 79,230 h + 8 / 17,578 h: a failure every 791.8 h
  EXPECT_NEAR(row.goodput.mtbf_s / 3600, 791.8, 0.1);
  EXPECT_EQ(p.recommended, 0u);
}

TEST(PurchasePlan, SparesThatMakeARunCheapestGiveWayToAWish) {
  // 64 nodes lose one every 2.2 days and wait 10 days for it: some spares pay. Without any the nodes cost 64 x
  // $270,000.
  const std::string nodes =
      "failures: {repair: 10d, node_mtbf: 140d, hardware: 1}\n"
      "candidates: [{node: dgx-h100, nodes: 64, terms: buy}]\n";
  const result::Purchase cheapest = answer_to(nodes);
  const int usual = cheapest.rows[0].spares;
  ASSERT_GT(usual, 0);
  const result::Purchase limited = answer_to("outlay: " + std::to_string(270'000 * (64 + usual - 1)) + "USD\n" + nodes);
  ASSERT_EQ(limited.recommended, 0u);
  EXPECT_EQ(limited.rows[0].spares, usual - 1);
  EXPECT_TRUE(limited.rows[0].in_outlay);
  // One that no number of spares meets leaves the row as it is.
  const result::Purchase none = answer_to("outlay: 1MUSD\n" + nodes);
  EXPECT_FALSE(none.recommended);
  EXPECT_EQ(none.rows[0].spares, usual);
}

TEST(PurchasePlan, TellsWhereRentsAreOfDifferentSellers) {
  // The catalogue's H100 and B200 are one seller's, its MI325X is another's; a price of one's own is nobody's.
  EXPECT_TRUE(answer_to("candidates: [{node: dgx-h100, nodes: 8}, {node: dgx-b200, nodes: 8}]\n").notes.empty());
  const std::vector<std::string> notes =
      answer_to("candidates: [{node: dgx-h100, nodes: 8}, {node: mi325x-x8, nodes: 8}]\n").notes;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("CoreWeave (h100-sxm), TensorWave (mi325x)"), std::string::npos) << notes[0];
  EXPECT_TRUE(
      answer_to("candidates: [{node: dgx-h100, nodes: 8}, {node: mi325x-x8, nodes: 8, rent: $2/h}]\n").notes.empty());
}

TEST(PurchasePlan, ACheckpointIsEveryParameterOnceOverAllNodes) {
  // 8,030,261,248 parameters of 2 bytes and 12 of Adam's are 112.4 GB; 8 nodes write 0.98 GB/s each: 14.34 s.
  const result::Purchase p = answer_to("candidates: [{node: dgx-h100, nodes: 8}]\n");
  EXPECT_NEAR(p.rows[0].goodput.checkpoint_bytes, 112.424e9, 0.001e9);
  EXPECT_NEAR(p.rows[0].goodput.checkpoint_s, 14.340, 0.001);
  EXPECT_NEAR(p.rows[0].goodput.restart_s, 900 + 14.340, 0.001);
}

TEST(PurchasePlan, WrittenBesideTrainingItStopsForTheCopyAlone) {
  // 112.4 GB over 64 GPUs of 53 GB/s: 33 ms.
  const result::Purchase p = answer_to("checkpoint: {async: true}\ncandidates: [{node: dgx-h100, nodes: 8}]\n");
  const result::Goodput& g = p.rows[0].goodput;
  EXPECT_NEAR(g.checkpoint_s, 0.0331, 0.0001);
  EXPECT_NEAR(g.written_beside_s, 14.340, 0.001);
  EXPECT_GE(g.interval_s, g.written_beside_s);
  EXPECT_FALSE(g.closed_form);
}

TEST(PurchasePlan, TermsAndPricesAreNotSearchedAgain) {
  MadeUpSearch search;
  const result::Purchase p = answer_to(
      "candidates: [{node: dgx-h100, nodes: [4, 8], terms: both}, {node: dgx-h100, nodes: 8, rent: $1/h},\n"
      "             {node: dgx-h100, nodes: 8, fabric: rail-400g-2to1}]\n",
      &search);
  EXPECT_EQ(p.rows.size(), 6u);
  EXPECT_EQ(search.calls, 3);  // 4 nodes, 8 nodes, 8 nodes on the other fabric
}

TEST(PurchasePlan, WhatCannotBeTrainedIsARowAndIsNotChosen) {
  const result::Purchase p = answer_to("candidates: [{node: dgx-h100, nodes: [1, 128, 8]}]\n");
  ASSERT_EQ(p.rows.size(), 3u);
  EXPECT_FALSE(p.rows[0].fits);
  EXPECT_EQ(p.rows[1].refused, "training.global_batch: is too small");
  EXPECT_EQ(p.recommended, 2u);
  EXPECT_THROW(answer_to("candidates: [{node: dgx-h100, nodes: 128}]\n"), base::InputError);
}

TEST(PurchasePlan, OfStrategiesWithinTheErrorTheSurestIsTaken) {
  // The fastest, known within a factor of 1.5, and one 1 % slower, known within 5 %: by nine days and a half 64 GPUs
  // are through with the second (9.13 days, 9.6 at worst), not surely with the first (9.04, up to 13.6).
  const auto ties = [](bool tight) {
    return [tight](const spec::Candidate& candidate) {
      result::Search out = MadeUpSearch()(candidate);
      out.results.push_back(out.results.front());
      out.results[0].prediction.step_time_high_s = 1.5 * out.results[0].prediction.step_time_s;
      result::Prediction& p = out.results[1].prediction;
      out.results[1].tied = true;
      out.results[tight ? 1 : 0].tight = tight;
      p.tokens_per_s /= 1.01;
      p.step_time_s *= 1.01;
      p.step_time_low_s = p.step_time_s / 1.05;
      p.step_time_high_s = p.step_time_s * 1.05;
      return out;
    };
  };
  const auto step_of = [&](bool tight) {
    sim::PurchaseOptions options;
    options.search = ties(tight);
    options.threads = 1;
    const std::string plan = "deadline: 9.8d\ncandidates: [{node: dgx-h100, nodes: 8, rent: $2/h, spares: 0}]\n";
    return sim::plan_purchase(purchase_of(plan), options).rows[0].prediction.step_time_s;
  };
  const double fastest = 128 * 8192 / (20e3 * 64);
  EXPECT_DOUBLE_EQ(step_of(false), 1.01 * fastest);
  EXPECT_DOUBLE_EQ(step_of(true), fastest);  // not what has hardly any memory to spare
}

TEST(PurchasePlan, AnOutlayKeepsFromBuying) {
  // Buying 8 nodes of $270,000 takes $2.16M at once and costs this run less than renting does.
  const std::string cluster = "candidates: [{node: dgx-h100, nodes: 8, terms: both, price: $270k, spares: 0}]\n";
  const result::Purchase enough = answer_to("outlay: $2.16M\n" + cluster),
                         less = answer_to("outlay: $2.15M\n" + cluster);
  EXPECT_EQ(enough.recommended, 1u);
  EXPECT_EQ(enough.rows[1].outlay, 2.16e6);
  EXPECT_TRUE(enough.rows[1].in_outlay);
  EXPECT_EQ(less.recommended, 0u);
  EXPECT_FALSE(less.rows[1].in_outlay);
  EXPECT_TRUE(less.rows[0].in_outlay);
  EXPECT_EQ(less.outlay, 2.15e6);
}

TEST(PurchasePlan, NothingIsBoughtForARunThatOutlivesIt) {
  // 9.04 days of training, 9.26 with failures, are no share of a life of 12 days that is used for 70 %, 8.4 days. Rent
  // has no life.
  const std::string cluster = "candidates: [{node: dgx-h100, nodes: 8, terms: both, spares: 0}]\n";
  const result::Purchase brief = answer_to("prices: {life: 12d, use: 0.7}\n" + cluster),
                         longer = answer_to("prices: {life: 14d, use: 0.7}\n" + cluster);
  EXPECT_EQ(brief.rows[1].refused, "takes 0.0254 years, and its nodes last 0.0329 at 70 % of use");
  EXPECT_EQ(brief.rows[0].refused, "");
  EXPECT_EQ(brief.recommended, 0u);
  EXPECT_EQ(longer.rows[1].refused, "");
}

TEST(PurchasePlan, TheBreakEvenIsOfWhatCanTrain) {
  const result::Purchase p = answer_to("candidates: [{node: dgx-h100, nodes: 8}, {node: dgx-b200, nodes: 128}]\n");
  ASSERT_EQ(p.break_even.size(), 1u);
  EXPECT_EQ(p.break_even[0].of, "dgx-h100");
}

TEST(PurchasePlan, TheBreakEvenOfEntriesThatCostTheSameIsToldOnce) {
  const std::string one = "{node: dgx-h100, nodes: 8, rent: $2/h}", other = "{node: dgx-h100, nodes: 16, rent: $2/h}",
                    dearer = "{node: dgx-h100, nodes: 8, rent: $3/h}";
  EXPECT_EQ(answer_to("candidates: [" + one + ", " + other + "]\n").break_even.size(), 1u);
  EXPECT_EQ(answer_to("candidates: [" + one + ", " + dearer + "]\n").break_even.size(), 2u);
}

TEST(PurchasePlan, ARunThatFailsBeforeItSavesAnythingIsRefused) {
  // 512 GPUs that fail every 100 minutes: one in 12 s, and a checkpoint takes 1.8 s after a step of 0.1 s.
  const result::Purchase p =
      answer_to("failures: {gpu_mtbf: 100min, detect: 1h}\ncandidates: [{node: dgx-h100, nodes: 64}]\n");
  EXPECT_EQ(p.rows[0].refused, "fails every 11.7 s, before anything is saved");
  EXPECT_FALSE(p.recommended);
}

TEST(PurchasePlan, ARunThatSpendsItsTimeSavingIsRefusedForThat) {
  // 112 GB of states at 80 MB/s (10 of each node) take 23 minutes; twelve steps of 0.82 s lie between two of them.
  const result::Purchase p =
      answer_to("checkpoint: {interval: 10s, bandwidth: 10MB/s}\ncandidates: [{node: dgx-h100, nodes: 8}]\n");
  EXPECT_EQ(p.rows[0].refused.find("saves for 1"), 0u) << p.rows[0].refused;
  EXPECT_NE(p.rows[0].refused.find(" what took 9.83 s: a longer checkpoint.interval"), std::string::npos)
      << p.rows[0].refused;
}

TEST(PurchasePlan, ARunTooShortToSaveIsRefusedForItsBandwidth) {
  // 1 Mi tokens are one step of 0.8 s; 112 GB at 8 times 10 MB/s take 23 minutes, and a failure comes in 33 days.
  spec::Purchase step = purchase_of("checkpoint: {bandwidth: 10MB/s}\ncandidates: [{node: dgx-h100, nodes: 8}]\n");
  step.tokens = 128 * 8192;
  MadeUpSearch search;
  sim::PurchaseOptions options;
  options.search = std::ref(search);
  const result::Purchase p = sim::plan_purchase(step, options);
  EXPECT_EQ(p.rows[0].refused.find("saves for "), 0u) << p.rows[0].refused;
  EXPECT_TRUE(p.rows[0].refused.ends_with(": more bandwidth is needed")) << p.rows[0].refused;
}

TEST(PurchasePlan, ChancesComeOfThePredictionsIntervalAndOfFailures) {
  // 9.04 days, 80 % within 10 % of it: a deadline of 9.04 days is kept in nearly half of the runs (failures delay
  // some), one of 11 days in all but a few.
  const std::string cluster = "candidates: [{node: dgx-h100, nodes: 8}]\n";
  const double half = *answer_to("deadline: 9.1d\n" + cluster).rows[0].chance_in_time;
  EXPECT_GT(half, 0.3);
  EXPECT_LT(half, 0.6);
  const result::Purchase late = answer_to("deadline: 11d\n" + cluster);
  EXPECT_GT(*late.rows[0].chance_in_time, 0.9);
  EXPECT_NEAR(late.rows[0].time_low_s / kDay, 9.04 / 1.1, 0.25);
  EXPECT_NEAR(late.rows[0].time_high_s / kDay, 9.04 * 1.1, 0.4);
}

TEST(PurchasePlan, UplinksAreHalvedAndTheChoiceMadeAnew) {
  const result::Purchase p = answer_to("candidates: [{node: dgx-h100, nodes: 8}]\n");
  ASSERT_TRUE(p.spine);
  EXPECT_EQ(p.spine->oversubscription, 2);
  EXPECT_NEAR(p.spine->slower, 1, 1e-9);  // 8 nodes stand below one leaf of 32
  EXPECT_EQ(p.spine->winner, "8 x dgx-h100");
}

}  // namespace
