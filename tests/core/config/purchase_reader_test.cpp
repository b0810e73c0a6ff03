// SPDX-License-Identifier: Apache-2.0
#include "core/config/purchase_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "core/config/candidate_reader.h"
#include "core/spec/parameters.h"

namespace {

using base::usd;
using base::usd_per_hour;

const config::Catalogue& catalogue() {
  static const config::Catalogue files(FORERUN_SOURCE_DIR);
  return files;
}

spec::Purchase purchase_of(const std::string& text) {
  return config::read_purchase(config::parse(text, "plan.yaml"), catalogue());
}

std::string message_of(const std::string& text) {
  try {
    purchase_of(text);
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "no fault";
}

const std::string kModel = "model: llama3-8b\ntokens: 15e12\n";
const std::string kSound = kModel + "candidates: [{node: dgx-h100, nodes: 4}]\n";

TEST(PurchaseReader, AnEntryStandsForEveryCountOnEveryFabricOnEitherTerms) {
  const spec::Purchase p = purchase_of(kModel +
                                       "candidates:\n"
                                       "  - {node: dgx-h100, nodes: [4, 8], fabric: [rail-400g, rail-400g-2to1]}\n"
                                       "  - {node: dgx-b200, nodes: 4, terms: both}\n");
  std::vector<std::string> names;
  std::vector<int> clusters;
  for (const spec::Candidate& c : p.candidates) {
    names.push_back(c.name);
    clusters.push_back(c.cluster);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"4 x dgx-h100, rail-400g", "8 x dgx-h100, rail-400g",
                                             "4 x dgx-h100, rail-400g-2to1", "8 x dgx-h100, rail-400g-2to1",
                                             "4 x dgx-b200", "4 x dgx-b200, bought"}));
  EXPECT_EQ(clusters, (std::vector<int>{0, 1, 2, 3, 4, 4}));  // terms alone are no other cluster
}

TEST(PurchaseReader, ABudgetAndAnOutlayAreSums) {
  const spec::Purchase p = purchase_of(kSound + "budget: $5M\noutlay: $20M\n");
  EXPECT_EQ(p.budget, usd(5e6));
  EXPECT_EQ(p.outlay, usd(20e6));
  EXPECT_FALSE(purchase_of(kSound).outlay);
  EXPECT_EQ(message_of(kSound + "outlay: 20M\n"),
            "plan.yaml:4:9: error: outlay: '20M' has no currency\n"
            "  mend: write US dollars, such as $5M (in single quotes on a command line) or 5MUSD");
}

TEST(PurchaseReader, TheTreeOfEachClustersJobIsGiven) {
  std::map<int, config::Value> jobs;
  const std::string text = kModel + "candidates: [{node: dgx-h100, nodes: [4, 8], terms: both}]\n";
  config::read_purchase(config::parse(text, "plan.yaml"), catalogue(), &jobs);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs.at(1).find("cluster")->find("nodes")->text, "8");
  EXPECT_EQ(jobs.at(1).find("training")->find("sequence")->text, "8192");
}

TEST(PurchaseReader, WhatIsLeftOutIsAsLlama3HadItAndSaid) {
  const spec::Purchase p = purchase_of(kSound);
  EXPECT_EQ(p.candidates[0].job.training.sequence, 8192);
  EXPECT_EQ(p.candidates[0].job.training.global_batch, 512);  // 4,194,304 tokens
  EXPECT_EQ(p.assumptions,
            (std::vector<std::string>{"training.sequence: 8192 tokens",
                                      "training.global_batch: 512 sequences (4,194,304 tokens a step)"}));
}

TEST(PurchaseReader, TheBatchThatNobodyWroteIsSharedByAllClustersThatItSuits) {
  // 18 trays of 4 GPUs are 72, whose odd part is 9: of 9 x 32 and 9 x 64 sequences the latter is the nearer to 512.
  const spec::Purchase p = purchase_of(kModel + "candidates: [{node: gb200-nvl72, nodes: [16, 18]}]\n");
  ASSERT_EQ(p.candidates.size(), 2u);
  for (const spec::Candidate& candidate : p.candidates) EXPECT_EQ(candidate.job.training.global_batch, 576);
  EXPECT_EQ(p.assumptions.back(), "training.global_batch: 576 sequences (4,718,592 tokens a step)");
  // 88 and 64 GPUs: 11 x 32 or 11 x 64, 47 is nearer to 64. Sequences of 5,000 tokens: 839, between 512 and 1,024.
  EXPECT_EQ(
      purchase_of(kModel + "candidates: [{node: dgx-h100, nodes: [11, 8]}]\n").candidates[0].job.training.global_batch,
      704);
  // 24, 40 and 56 GPUs: 105 x 4 is the nearest to 512, but no sequence for each GPU of a node: 105 x 8.
  EXPECT_EQ(purchase_of(kModel + "candidates: [{node: dgx-h100, nodes: [3, 5, 7]}]\n")
                .candidates[0]
                .job.training.global_batch,
            840);
  const std::string short_ones = "training: {sequence: 5000}\ncandidates: [{node: dgx-h100, nodes: 8}]\n";
  EXPECT_EQ(purchase_of(kModel + short_ones).candidates[0].job.training.global_batch, 1024);
}

TEST(PurchaseReader, WhereNoBatchSuitsAllClustersEachHasItsOwn) {
  // 32, 72 and 56 GPUs: 63 x 8 = 504 is the nearest to 512, and 32 replicas cannot share it. 512, 9 x 64 and 7 x 64 are
  // whole for each. Also where the odd parts have more in common than the batch: 9,009 of 56, 72, 88 and 104 GPUs.
  const auto batches = [](const std::string& nodes) {
    std::vector<std::int64_t> out;
    const spec::Purchase p = purchase_of(kModel + "candidates: [{node: dgx-h100, nodes: " + nodes + "}]\n");
    for (const spec::Candidate& candidate : p.candidates) {
      const std::int64_t batch = candidate.job.training.global_batch;
      EXPECT_EQ(batch % candidate.job.cluster.gpus(), 0) << candidate.name;
      out.push_back(batch);
    }
    return out;
  };
  EXPECT_EQ(batches("[4, 9, 7]"), (std::vector<std::int64_t>{512, 576, 448}));
  EXPECT_EQ(batches("[7, 9, 11, 13]"), (std::vector<std::int64_t>{448, 576, 704, 416}));
  const spec::Purchase p = purchase_of(kModel + "candidates: [{node: dgx-h100, nodes: [4, 9, 7]}]\n");
  EXPECT_EQ(p.assumptions.back(),
            "training.global_batch: 448 sequences (3,670,016 tokens a step) on 56 GPUs, 512 sequences (4,194,304 "
            "tokens a step) on 32 GPUs, 576 sequences (4,718,592 tokens a step) on 72 GPUs");
}

TEST(PurchaseReader, TokensHaveScales) {
  EXPECT_EQ(config::parse_tokens("15T").value, 15e12);
  EXPECT_EQ(config::parse_tokens("300B").value, 300e9);
  EXPECT_EQ(config::parse_tokens("1.5e12").value, 1.5e12);
}

TEST(PurchaseReader, ChinchillaIsTwentyTokensAParameter) {
  const spec::Purchase p =
      purchase_of("model: llama3-8b\ntokens: chinchilla\ncandidates: [{node: dgx-h100, nodes: 4}]\n");
  EXPECT_EQ(p.tokens, 20 * 8030261248.0);  // parameters of Llama 3 8B
}

TEST(PurchaseReader, TheUsersPricesLieOverTheCatalogues) {
  const spec::Purchase p = purchase_of(kModel +
                                       "prices: {rent: {h100-sxm: $2.10/h}, pue: 1.2}\n"
                                       "candidates: [{node: dgx-h100, nodes: 4}, {node: dgx-b200, nodes: 4},\n"
                                       "             {node: dgx-h100, nodes: 2, rent: $9/h}]\n");
  EXPECT_EQ(p.candidates[0].rent->value, usd_per_hour(2.1));
  EXPECT_EQ(p.candidates[0].rent->source, "plan.yaml:3");
  EXPECT_EQ(p.candidates[0].price->value, usd(270e3));  // the catalogue's
  EXPECT_EQ(p.candidates[1].rent->value, usd_per_hour(8.6));
  EXPECT_EQ(p.candidates[1].rent->date, "2026-09-20");
  EXPECT_EQ(p.candidates[1].rent->seller, "CoreWeave");
  EXPECT_TRUE(p.candidates[0].rent->seller.empty());
  EXPECT_EQ(p.candidates[2].rent->value, usd_per_hour(9));
  EXPECT_EQ(p.candidates[2].name, "2 x dgx-h100, $9.00/h");
  EXPECT_EQ(p.candidates[2].rent_of, "candidates[2]");  // it does not move with the others' price
  EXPECT_EQ(p.ownership.pue.value, 1.2);
}

TEST(PurchaseReader, ANodesOwnRentGoesBeforeItsGpus) {
  const spec::Purchase p = purchase_of(kModel + "candidates: [{node: p5, nodes: 4}]\n");
  EXPECT_EQ(p.candidates[0].rent_of, "p5");
  EXPECT_EQ(p.candidates[0].rent->value, usd_per_hour(6.88));
}

TEST(PurchaseReader, AChangedNodeIsRentedAsTheOneItWas) {
  // Of p5, $6.88 a GPU; with other GPUs it is another product, and goes by these.
  const auto of = [](const std::string& node) {
    const spec::Purchase p = purchase_of(kModel + "candidates: [{node: " + node + ", nodes: 2}]\n");
    return p.candidates[0].rent_of;
  };
  EXPECT_EQ(of("{base: p5, power: 9kW}"), "p5");
  EXPECT_EQ(of("{base: p5, gpu: {power: 500W}}"), "p5");
  EXPECT_EQ(of("{base: p5, gpu: h200-sxm}"), "h200-sxm");
}

TEST(PurchaseReader, TheUsersPriceOfAGpuGoesBeforeTheCataloguesOfANode) {
  const auto rent_with = [](const std::string& rents) {
    return purchase_of(kModel + "prices: {rent: " + rents + "}\ncandidates: [{node: p5, nodes: 2}]\n")
        .candidates[0]
        .rent->value;
  };
  EXPECT_EQ(rent_with("{h100-sxm: $2/h}"), usd_per_hour(2));
  EXPECT_EQ(rent_with("{h100-sxm: $2/h, p5: $5/h}"), usd_per_hour(5));
}

TEST(PurchaseReader, CandidatesOfOneNameAreToldApart) {
  const spec::Purchase p = purchase_of(kModel +
                                       "candidates: [{node: dgx-h100, nodes: 4, spares: 0}, {node: dgx-h100, nodes: "
                                       "4, spares: 1}, {node: {base: dgx-h100, gpu: {power: 500W}}, nodes: 4}, {node: "
                                       "{base: dgx-h100, gpu: {power: 600W}}, nodes: 4}]\n");
  std::vector<std::string> names;
  for (const spec::Candidate& candidate : p.candidates) names.push_back(candidate.name);
  EXPECT_EQ(names, (std::vector<std::string>{"4 x dgx-h100, 0 spares", "4 x dgx-h100, 1 spare",
                                             "4 x dgx-h100 (changed) of candidates[2]",
                                             "4 x dgx-h100 (changed) of candidates[3]"}));
}

TEST(PurchaseReader, ANodeWithoutANameIsCalledByItsGpus) {
  const spec::Purchase p =
      purchase_of(kModel +
                  "candidates: [{node: {gpus: 4, gpu: h100-sxm, nvlink: {bandwidth: 450GB/s, domain: 4, "
                  "switch: nvswitch}, nic: {bandwidth: 400Gb/s, kind: infiniband}, pcie: {bandwidth: "
                  "63GB/s}}, nodes: 2, fabric: rail-400g}]\n");
  EXPECT_EQ(p.candidates[0].name, "2 x node of 4 h100-sxm, rail-400g");
}

TEST(PurchaseReader, FiguresInAMapLieOverTheFileThatItsBaseNames) {
  const std::string file = testing::TempDir() + "my-prices-of-" + std::to_string(::getpid()) + ".yaml";
  std::ofstream(file) << "rent: {h100-sxm: $2/h}\npue: 1.5\n";
  const spec::Purchase p = purchase_of(kSound + "prices: {base: " + file + ", pue: 1.2}\n");
  EXPECT_EQ(p.candidates[0].rent->value, usd_per_hour(2));
  EXPECT_EQ(p.ownership.pue.value, 1.2);
  std::remove(file.c_str());
}

TEST(PurchaseReader, EveryFigureOfTheCatalogueHasDateAndSource) {
  config::Faults faults;
  const config::PriceList prices = config::read_prices(nullptr, catalogue(), faults);
  spec::Failures f;
  spec::Checkpointing c;
  config::read_failures(nullptr, nullptr, catalogue(), f, c, faults);
  EXPECT_TRUE(faults.empty());
  const auto sound = [](const auto& figure) { return figure.date.size() >= 7 && figure.source.size() > 10; };
  for (const auto& [name, figure] : prices.rent) EXPECT_TRUE(sound(figure)) << name;
  for (const auto& [name, figure] : prices.buy) EXPECT_TRUE(sound(figure)) << name;
  EXPECT_TRUE(sound(prices.ownership.pue) && sound(prices.ownership.electricity) && sound(prices.ownership.life) &&
              sound(prices.ownership.use));
  EXPECT_TRUE(sound(f.gpu_mtbf) && sound(f.node_mtbf) && sound(f.hardware) && sound(f.detect) && sound(f.restart) &&
              sound(f.repair) && sound(c.bandwidth));
}

TEST(PurchaseMessages, SlipsAreToldWithTheirPlace) {
  EXPECT_EQ(message_of(kSound + "deadlin: 60d\n"),
            "plan.yaml:4:1: error: deadlin: unknown key\n  mend: did you mean deadline?");
  EXPECT_EQ(
      message_of(kSound + "deadline: 60\n"),
      "plan.yaml:4:11: error: deadline: '60' has no unit\n  mend: write a time with its unit, such as 1.5us or 60d");
  EXPECT_EQ(message_of(kSound + "budget: 5M\n"),
            "plan.yaml:4:9: error: budget: '5M' has no currency\n"
            "  mend: write US dollars, such as $5M (in single quotes on a command line) or 5MUSD");
  EXPECT_EQ(message_of("model: llama3-8b\ntokens: 2\ncandidates: [{node: dgx-h100, nodes: 4}]\n"),
            "plan.yaml:2:9: error: tokens: 2 are fewer than one step takes, 4,194,304\n"
            "  mend: write how many tokens, such as 15e12 or 15T");
  EXPECT_EQ(message_of("model: llama3-8b\ntokens: lots\ncandidates: [{node: dgx-h100, nodes: 4}]\n"),
            "plan.yaml:2:9: error: tokens: 'lots' is not a number of tokens\n"
            "  mend: write how many tokens, such as 15e12 or 15T, or chinchilla");
  EXPECT_EQ(message_of("model: mixtral-8x7b\ntokens: chinchilla\ncandidates: [{node: dgx-h100, nodes: 4}]\n"),
            "plan.yaml:2:9: error: tokens: chinchilla's law is of dense models, and 'mixtral-8x7b' has experts\n"
            "  mend: write how many tokens, such as 15e12");
  EXPECT_EQ(message_of(kModel),
            "plan.yaml:1:1: error: candidates: is missing\n"
            "  mend: add `candidates:` such as [{node: dgx-h100, nodes: [32, 64]}]");
}

TEST(PurchaseMessages, CandidatesAreNamed) {
  EXPECT_EQ(message_of(kModel + "candidates:\n  - {node: dgx-h100, nodes: 4}\n  - {node: dgx-h10, nodes: 4}\n"),
            "plan.yaml:5:12: error: candidates[1].node: there is no node 'dgx-h10'\n"
            "  mend: did you mean dgx-h100? `forerun list nodes` shows all");
  EXPECT_EQ(message_of(kModel + "candidates: [{node: dgx-h100}]\n"),
            "plan.yaml:3:14: error: candidates[0].nodes: is missing\n"
            "  mend: add `nodes:` with a count, or several: [32, 64]");
  EXPECT_EQ(message_of(kModel + "candidates: [{node: hgx-h20, nodes: [1, 2]}]\n"),
            "plan.yaml:3:14: error: candidates[0].rent: nothing says what an hour of 'h20' costs\n"
            "  mend: write rent: $2.50/h here, or rent: {h20: $2.50/h} in your prices");
  EXPECT_EQ(message_of(kModel + "candidates: [{node: dgx-a100-80gb, nodes: 1, terms: buy}]\n"),
            "plan.yaml:3:14: error: candidates[0].price: nothing says what a node 'dgx-a100-80gb' costs\n"
            "  mend: write price: $300k here, or buy: {dgx-a100-80gb: $300k} in your prices");
}

TEST(PurchaseMessages, AFaultOfTheModelIsToldOnce) {
  EXPECT_EQ(message_of("model: llama3-8b\ntokens: 1T\ntraining: {sequence: 0}\n"
                       "candidates: [{node: dgx-h100, nodes: [1, 2, 4]}]\n"),
            "plan.yaml:3:22: error: training.sequence: 0 is out of range\n"
            "  mend: write a whole number from 1 to 100000000");
}

TEST(PurchaseMessages, AFigureOfAFileNeedsItsDateAndSource) {
  EXPECT_EQ(
      message_of(kSound + "prices: {rent: {h100-sxm: {value: $2/h}}}\n"),
      "plan.yaml:4:27: error: prices.rent.h100-sxm.date: is missing\n  mend: add `date:` to prices.rent.h100-sxm\n"
      "plan.yaml:4:27: error: prices.rent.h100-sxm.source: is missing\n"
      "  mend: add `source:` to prices.rent.h100-sxm");
  EXPECT_EQ(message_of(kSound + "failures: {repair: 24}\n"),
            "plan.yaml:4:20: error: failures.repair: '24' has no unit\n"
            "  mend: write a time with its unit, such as 1.5us or 60d");
  EXPECT_EQ(message_of(kSound + "prices: my-prices.yaml\n"),
            "plan.yaml:4:9: error: prices: there is no file 'my-prices.yaml'\n"
            "  mend: write the path from here or from the plan");
}

TEST(PurchaseMessages, APriceOfNothingKnownIsAFault) {
  EXPECT_EQ(message_of(kSound + "prices: {rent: {h100sxm: $2/h}, buy: {dgxh100: $100k}}\n"),
            "plan.yaml:4:17: error: prices.rent.h100sxm: no GPU, node or candidate is called 'h100sxm'\n"
            "  mend: did you mean h100-sxm?\n"
            "plan.yaml:4:39: error: prices.buy.dgxh100: no GPU, node or candidate is called 'dgxh100'\n"
            "  mend: did you mean dgx-h100?");
}

TEST(PurchaseMessages, AListOfPricesIsAMap) {
  EXPECT_EQ(message_of(kSound + "prices: {rent: $2/h}\n"),
            "plan.yaml:4:16: error: prices.rent: '$2/h' is not a map\n  mend: write rent: {h100-sxm: $2.50/h}");
  EXPECT_EQ(message_of(kSound + "prices: {buy: [dgx-h100]}\n"),
            "plan.yaml:4:15: error: prices.buy: a list is not a map\n  mend: write buy: {dgx-h100: $300k}");
  EXPECT_EQ(message_of(kSound + "prices: {base: [a.yaml]}\n"),
            "plan.yaml:4:16: error: prices.base: is not the path of a file\n  mend: write base: my-prices.yaml");
}

TEST(PurchaseMessages, NodesAreBoughtNotGpus) {
  EXPECT_EQ(message_of(kSound + "prices: {buy: {h100-sxm: $30k}}\n"),
            "plan.yaml:4:16: error: prices.buy.h100-sxm: 'h100-sxm' is a GPU, and what is bought are nodes\n"
            "  mend: write the name of a node, such as dgx-h100, and what it costs with its GPUs");
}

TEST(PurchaseMessages, APriceIsMeantForOneOfThePlansOwn) {
  // h100-nvl is as near in the catalogue.
  EXPECT_EQ(message_of(kSound + "prices: {rent: {h100: $2/h}}\n"),
            "plan.yaml:4:17: error: prices.rent.h100: no GPU, node or candidate is called 'h100'\n"
            "  mend: did you mean h100-sxm or dgx-h100?");
}

TEST(PurchaseMessages, ACandidateOfACommandLineIsMendedThere) {
  config::Value tree = config::parse(kSound, "plan.yaml");
  config::Value list;
  list.kind = config::Value::Kind::list;
  list.items = {config::candidate_tree("hgx-h20:1", "--candidates hgx-h20:1")};
  tree.set("candidates", list);
  std::string told;
  try {
    config::read_purchase(tree, catalogue());
  } catch (const base::InputError& error) {
    told = error.what();
  }
  EXPECT_EQ(told,
            "--candidates hgx-h20:1: error: candidates[0].rent: nothing says what an hour of 'h20' costs\n"
            "  mend: write --set 'candidates[0].rent=$2.50/h', or rent: {h20: $2.50/h} in your prices");
  config::set_path(tree, "candidates[0].rent", "$2.50/h", "--set candidates[0].rent=$2.50/h");
  EXPECT_EQ(config::read_purchase(tree, catalogue()).candidates.size(), 1u);
}

TEST(PurchaseMessages, WhatThePlanChoosesIsNotTheTrainings) {
  EXPECT_EQ(message_of("model: llama3-8b\ntokens: 1T\ntraining: {checkpoint: {every: 100}}\n"
                       "candidates: [{node: dgx-h100, nodes: 1}]\n"),
            "plan.yaml:3:11: error: training: has a checkpoint, whose interval is the plan's to choose\n"
            "  mend: write checkpoint: {bandwidth: 1GB/s, async: true} beside training");
}

TEST(PurchaseMessages, ACandidateIsAMap) {
  EXPECT_EQ(message_of(kModel + "candidates: [dgx-h100:32]\n"),
            "plan.yaml:3:14: error: candidates[0]: 'dgx-h100:32' is not a map\n"
            "  mend: write {node: dgx-h100, nodes: [32]}");
}

TEST(CandidateTree, IsWrittenInShort) {
  const config::Value tree = config::candidate_tree("dgx-h100:32,64@rail-400g,rail-400g-2to1", "--candidates");
  EXPECT_EQ(tree.find("node")->text, "dgx-h100");
  EXPECT_EQ(tree.find("nodes")->items.size(), 2u);
  EXPECT_EQ(tree.find("fabric")->items[1].text, "rail-400g-2to1");
  EXPECT_THROW(config::candidate_tree("dgx-h100", "--candidates"), base::InputError);
}

}  // namespace
