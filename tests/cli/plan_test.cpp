// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::contains;
using testing_support::content_of;
using testing_support::forerun;
using testing_support::ScratchFolder;

/// All keys but micro_batch and dp fixed: a few strategies a cluster.
const std::string kFixed =
    "--fix tp=2 --fix sp=true --fix cp=1 --fix pp=1 --fix schedule=1f1b --fix zero=1 --fix recompute=none "
    "--fix attention_kernel=cudnn --fix overlap.tp=none --set runs=100 ";
const std::string kSmall =
    "plan --model llama3-8b --tokens 10B --sequence 4096 --global-batch 64 --candidates dgx-h100:1,2 "
    "--set 'prices.rent={h100-sxm: $2.50/h}' --set 'prices.pue=1.2' " +
    kFixed;

json answer_to(const std::string& arguments) { return json::parse(forerun(arguments + " --json -").out); }

TEST(PlanCommand, DaysCostAndEnergyFollowFromTheStepAndTheGoodput) {
  const json answer = answer_to(kSmall);
  EXPECT_EQ(answer["schema"], 1);
  ASSERT_EQ(answer["candidates"].size(), 2u);
  for (const json& row : answer["candidates"]) {
    const double nodes = row["nodes"].get<double>() + row["spares"].get<double>();
    const double time = 10e9 / row["tokens_per_s"].get<double>() / row["failures"]["goodput"].get<double>();
    EXPECT_NEAR(row["time_s"].get<double>() / time, 1, 1e-9);
    EXPECT_NEAR(row["cost_usd"].get<double>() / (time / 3600 * nodes * 8 * 2.5), 1, 1e-9);
    EXPECT_NEAR(row["energy_j"].get<double>() / (time * nodes * 10.2e3 * 1.2), 1, 1e-9);
    EXPECT_NEAR(row["tokens_per_dollar"].get<double>() * row["cost_usd"].get<double>(), 10e9, 1);
    EXPECT_LE(row["time_low_s"], row["time_s"]);
    EXPECT_LE(row["time_s"], row["time_high_s"]);
    EXPECT_EQ(row["spares"], 0);  // a node more would double or half as much again the rent
    EXPECT_EQ(row["failures"]["closed_form"], row["failures"]["goodput"]);
  }
}

TEST(PlanCommand, TheSimulationAgreesWithTheClosedForm) {
  // A failure every 15 h or so in a run of a day and more.
  const json answer = answer_to(kSmall + "--set failures.gpu_mtbf=150h --set failures.repair=2h --set runs=400");
  for (const json& row : answer["candidates"]) {
    const json& f = row["failures"];
    EXPECT_GT(f["failures"], 1);
    EXPECT_GT(f["standard_error"], 0);
    EXPECT_NEAR(f["closed_form"].get<double>(), f["simulated"].get<double>(), 4 * f["standard_error"].get<double>());
  }
}

TEST(PlanCommand, TheStepIsThatOfPredict) {
  const json row = answer_to(kSmall)["candidates"][1];
  std::string flags = "predict --model llama3-8b --node dgx-h100 --nodes 2 --sequence 4096 --global-batch 64 --json - ";
  for (const auto& [key, value] : row["strategy"].items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    flags += "--set " + std::string(key == "micro_batch" ? "training." : "strategy.") + key + "=" + text + " ";
  }
  EXPECT_EQ(row["step_time_s"], json::parse(forerun(flags).out)["step_time_s"]);
}

TEST(PlanCommand, WhereNothingFitsItSaysByHowMuchAndWhichKeysAreFixed) {
  const json answer = answer_to(
      "plan --model llama3-8b --tokens 100B --candidates dgx-h100:4 --fix pp=1 --fix cp=1 --fix zero=1 --fix tp=1 "
      "--fix recompute=none");
  const json nearest = answer["candidates"][0]["nearest"];
  EXPECT_GT(nearest["short_bytes"], 0);
  EXPECT_FALSE(nearest["mends"].empty());
  const std::string told = answer["recommendation"];
  EXPECT_TRUE(contains(told, "too much")) << told;
  for (const char* key : {"tp", "zero", "recompute"}) EXPECT_TRUE(contains(nearest["given"].dump(), key)) << nearest;
}

TEST(PlanCommand, CandidatesMayFollowOneAnother) {
  const json answer = answer_to("plan --model llama3-8b --tokens 10B --sequence 4096 --global-batch 64 " + kFixed +
                                "--candidates dgx-h100:1 dgx-h200:1");
  ASSERT_EQ(answer["candidates"].size(), 2u);
  EXPECT_EQ(answer["candidates"][1]["candidate"], "1 x dgx-h200");
  EXPECT_EQ(answer["candidates"][1]["price_of"], "h200-sxm");
}

TEST(PlanCommand, TermsShareAStepAndTheBreakEvenIsTold) {
  // One node: $270,000 over 8 x $2.50 less 10.2 kW x 1.2 x $0.0929 = $1.137 an hour: 14,314 h.
  const json answer = answer_to(kSmall + "--set 'candidates=[{node: dgx-h100, nodes: 1, terms: both}]'");
  ASSERT_EQ(answer["candidates"].size(), 2u);
  EXPECT_EQ(answer["candidates"][0]["time_s"], answer["candidates"][1]["time_s"]);
  EXPECT_EQ(answer["candidates"][1]["terms"], "buy");
  EXPECT_EQ(answer["candidates"][1]["outlay_usd"], 270e3);
  EXPECT_TRUE(answer["candidates"][0]["outlay_usd"].is_null());
  ASSERT_EQ(answer["break_even"].size(), 1u);
  EXPECT_NEAR(answer["break_even"][0]["hours"].get<double>(), 270e3 / (20 - 10.2 * 1.2 * 0.0929), 0.5);
  // Of the run: its hours' share of 5 years x 0.7, and electricity.
  const double hours = answer["candidates"][1]["time_s"].get<double>() / 3600;
  EXPECT_NEAR(answer["candidates"][1]["cost_usd"].get<double>(),
              hours * (270e3 / (5 * 8760 * 0.7) + 10.2 * 1.2 * 0.0929), 0.01);
}

TEST(PlanCommand, WhatTheFrameworkCannotSayIsToldWithTheWayAroundIt) {
  const std::string common =
      "plan --model llama3-8b --tokens 10B --sequence 4096 --global-batch 64 --candidates dgx-h100:1 --fix tp=2 "
      "--fix sp=true --fix cp=1 --fix pp=2 --fix zero=1 --fix recompute=none --fix overlap.tp=none --set runs=10 ";
  const json other = answer_to(common + "--fix schedule=zb-h1 --fix attention_kernel=cudnn");
  const json row = other["candidates"][0];
  EXPECT_TRUE(contains(row["warnings"].dump(), "strategy.schedule: Megatron-LM cannot say 'zb-h1'")) << row["warnings"];
  EXPECT_TRUE(contains(other["notes"].dump(),
                       "megatron cannot say the best strategy of 1 x dgx-h100 (schedule zb-h1): --launchable "
                       "keeps to what it can"))
      << other["notes"];
  const json own = answer_to(common + "--launchable --fix attention_kernel=cudnn");
  EXPECT_FALSE(contains(own["candidates"][0]["warnings"].dump(), "cannot say"));
  EXPECT_TRUE(own["notes"].empty()) << own["notes"];
}

TEST(PlanCommand, AnOutlayLimitsWhatIsBought) {
  const std::string both = kSmall + "--set 'candidates=[{node: dgx-h100, nodes: 1, terms: both}]' --outlay ";
  EXPECT_EQ(answer_to(both + "270kUSD")["recommended"], "1 x dgx-h100, bought");
  const json rented = answer_to(both + "269kUSD");
  EXPECT_EQ(rented["recommended"], "1 x dgx-h100");
  EXPECT_EQ(rented["outlay_limit_usd"], 269e3);
  EXPECT_FALSE(rented["candidates"][1]["in_outlay"]);
}

TEST(PlanCommand, PricesLieBesideThePlan) {
  const ScratchFolder scratch;
  std::ofstream(scratch / "mine.yaml") << "rent:\n  h100-sxm: {value: $1.25/h, date: 2026-11-22, source: an offer}\n";
  std::ofstream(scratch / "plan.yaml") << "model: llama3-8b\ntokens: 10B\nprices: mine.yaml\n"
                                          "training: {sequence: 4096, global_batch: 64}\n"
                                          "candidates: [{node: dgx-h100, nodes: 1, spares: 0}]\n";
  const json answer = answer_to("plan '" + (scratch / "plan.yaml") + "' " + kFixed);
  EXPECT_EQ(answer["candidates"][0]["price_usd"], 1.25);
  EXPECT_EQ(
      answer["figures"][0],
      (json{{"what", "rent of h100-sxm"}, {"value", "$1.250/h"}, {"date", "2026-11-22"}, {"source", "an offer"}}));
  std::ofstream(scratch / "mine.yaml") << "rent: {h100-sxm: 1.25}\n";
  EXPECT_EQ(forerun("plan '" + (scratch / "plan.yaml") + "'").err,
            (scratch / "mine.yaml") +
                ":1:18: error: rent.h100-sxm: '1.25' does not end in /h\n"
                "  mend: write US dollars, such as $2.50/h (in single quotes on a command line) or "
                "2.50USD/h\n");
}

TEST(PlanCommand, WhereNoneWillDoTheExitCodeSaysSo) {
  const Answer run = forerun(kSmall + "--budget 5USD --deadline 1h");
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_TRUE(contains(run.out, "None: no candidate will finish within 60 minutes and $5.00 in nine runs of ten.") ||
              contains(run.out, "None: no candidate will finish within 1.0 hours and $5.00 in nine runs of ten."))
      << run.out;
}

TEST(PlanCommand, WhatDoesNotFitIsARowAndNoFault) {
  const Answer run = forerun(
      "plan --model llama3-70b --tokens 1B --candidates dgx-h100:1 --fix tp=8 --fix pp=1 --fix cp=1 "
      "--fix recompute=full --fix attention_kernel=cudnn --set runs=10 --json -");
  EXPECT_EQ(run.exit_code, 1) << run.err;
  const json row = json::parse(run.out)["candidates"][0];
  EXPECT_FALSE(row["fits"]);
  EXPECT_TRUE(row["refused"].is_null());
}

TEST(PlanCommand, TheSameSeedIsTheSameAnswerOnAnyNumberOfThreads) {
  const std::string one = forerun(kSmall + "--threads 1 --json -").out;
  EXPECT_EQ(forerun(kSmall + "--threads 2 --json -").out, one);
  EXPECT_NE(forerun(kSmall + "--threads 1 --seed 2 --json -").out, one);
}

TEST(PlanCommand, APurchaserReadsTheAnswerFirst) {
  const Answer run = forerun(kSmall + "--deadline 30d");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* part :
       {"llama3-8b, 10B tokens, within 30.0 days", "Take ", "Risk: 80 % chance to finish in ", "What would change it",
        "Rent against buy", "Figures, and who says so", "2024-07, 16,384 GPUs", "training.global_batch"}) {
    EXPECT_EQ(contains(run.out, part), std::string(part) != "training.global_batch") << part;
  }
}

TEST(PlanCommand, TheTableHasARowForEachCandidate) {
  const std::string table = forerun(kSmall + "--csv -").out;
  EXPECT_TRUE(table.starts_with("candidate,terms,nodes,spares,gpus,days,")) << table;
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3);
}

TEST(PlanCommand, ThePageHoldsTheAnswerOfTheText) {
  const ScratchFolder scratch;
  const Answer run = forerun(kSmall + "--deadline 30d --html " + (scratch / "plan.html"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string page = content_of(scratch / "plan.html");
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  const std::string taken = run.out.substr(run.out.find("Take ") + 5);
  EXPECT_TRUE(contains(page, "<p class=\"lead\">Take " + taken.substr(0, taken.find(':')))) << taken;
  EXPECT_TRUE(contains(page, "data-chart=\"days_cost\""));
  EXPECT_TRUE(contains(page, "2024-07, 16,384 GPUs") || contains(page, "<td>2024-07"));
  EXPECT_EQ(forerun(kSmall + "--html - --json -").exit_code, 2);
}

TEST(PlanCommand, SlipsAreToldAsFlags) {
  EXPECT_EQ(forerun("plan --model llama3-8b --tokens 1T").err,
            "error: candidates: is missing\n  mend: add --candidates dgx-h100:32,64, or name a PLAN file\n");
  EXPECT_EQ(forerun("plan --model llama3-8b --tokens 1T --candidates dgx-h100").err,
            "error: --candidates dgx-h100: 'dgx-h100' does not say how many nodes\n"
            "  mend: write NODE:COUNT,COUNT or NODE:COUNT@FABRIC, such as dgx-h100:32,64\n");
  EXPECT_EQ(forerun("plan --model llama3-8b --tokens 1T --budget 5M --candidates dgx-h100:1").err,
            "--budget 5M: error: budget: '5M' has no currency\n"
            "  mend: write US dollars, such as $5M (in single quotes on a command line) or 5MUSD\n");
  EXPECT_EQ(forerun("plan --model llama3-8b --tokens 1T --candidates dgx-h10:1").err,
            "--candidates dgx-h10:1: error: candidates[0].node: there is no node 'dgx-h10'\n"
            "  mend: did you mean dgx-h100? `forerun list nodes` shows all\n");
  EXPECT_EQ(forerun("plan --model llama3-8b --tokens 1T --candidates dgx-h100:1 dgx-h100:2,1").err,
            "error: --candidates: 1 x dgx-h100 is named twice\n  mend: name it once\n");
  EXPECT_EQ(forerun("plan --model llama3-8b --tokens 1T --candidates dgx-h100:1,1").err,
            "--candidates dgx-h100:1,1: error: candidates[0].nodes: 1 is there twice\n  mend: write each count once\n");
  EXPECT_EQ(forerun("plan a.yaml b.yaml").exit_code, 2);
  EXPECT_EQ(forerun("plan --model llama3-8b --tokens 1T --candidates dgx-h100:1 --set strategy.tp=4 --fix tp=2").err,
            "error: --fix: tp=2 contradicts --set strategy.tp=4\n  mend: keep one of the two\n");
  EXPECT_EQ(forerun("plan --model llama3-8b --tokens 1T --candidates dgx-h100:1 --seed x --set seed=2").err,
            "--seed x: error: seed: 'x' is not a whole number\n"
            "  mend: write a whole number from 0 to 9223372036854775807\n");
}

TEST(PlanCommand, TheExamplesAreSound) {
  // Their own spaces are for people to wait for: one strategy of each here.
  const std::string one =
      " --fix tp=8 --fix sp=true --fix pp=1 --fix cp=1 --fix schedule=1f1b --fix vpp=1 --fix zero=3 --fix "
      "recompute=full "
      "--fix micro_batch=1 --fix attention_kernel=flash2 --fix overlap.tp=none --set runs=10 --json -";
  for (const auto& [name, rows] : {std::pair{"llama3-70b-1t", 6u}, std::pair{"llama3-8b-chinchilla", 5u}}) {
    const Answer run = forerun("plan " FORERUN_SOURCE_DIR "/workloads/plans/" + std::string(name) + ".yaml" + one);
    ASSERT_LE(run.exit_code, 1) << run.err;
    EXPECT_EQ(json::parse(run.out)["candidates"].size(), rows) << name;
  }
}

}  // namespace
