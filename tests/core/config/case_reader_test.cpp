// SPDX-License-Identifier: Apache-2.0
#include "core/config/case_reader.h"

#include <gtest/gtest.h>

#include "tests/core/config/small_catalogue.h"

namespace config::testing {
namespace {

const std::string kJob =
    "{model: small, cluster: {node: box-8, nodes: 1}, training: {sequence: 128, global_batch: 16}, strategy: {tp: 2}}";

class CaseReader : public ::testing::Test {
 protected:
  CaseFile read(const std::string& yaml) const {
    return read_cases(parse(yaml, "cases.yaml"), "cases.yaml", small_.catalogue());
  }
  /// Of one case with these further keys.
  Case one(const std::string& keys) const { return read("cases: [{" + keys + "}]").cases.at(0); }
  std::string broken(const std::string& yaml) const {
    try {
      read(yaml);
    } catch (const base::InputError& error) {
      return error.what();
    }
    return "no fault";
  }
  SmallCatalogue small_;
};

TEST_F(CaseReader, ReadsSourceJobAndWhatWasMeasured) {
  const CaseFile file =
      read("source: {paper: \"A paper\", arxiv: \"2401.1\"}\ncases:\n- id: first\n  tier: B\n  job: " + kJob +
           "\n  measured: {step_time: 250ms, memory: 40GB, memory_kind: allocated, fits: true}\n"
           "  notes: \"batch assumed\"\n");
  EXPECT_EQ(file.path, "cases.yaml");
  EXPECT_EQ(file.source, (result::Labels{{"paper", "A paper"}, {"arxiv", "2401.1"}}));
  ASSERT_EQ(file.cases.size(), 1u);
  const result::ValidationCase& row = file.cases[0].row;
  EXPECT_EQ(row.error_message, "");
  EXPECT_EQ(row.id, "first");
  EXPECT_EQ(row.tier, "B");
  EXPECT_EQ(row.notes, "batch assumed");
  EXPECT_EQ(row.measured_s, 0.25);
  EXPECT_EQ(row.measured_bytes, 40'000'000'000);
  EXPECT_EQ(row.memory_kind, "allocated");
  EXPECT_EQ(row.measured_fits, true);
  ASSERT_TRUE(file.cases[0].job);
  EXPECT_EQ(file.cases[0].job->strategy.dp, 4);  // 8 GPUs / tp 2: the job is resolved
}

TEST_F(CaseReader, WhatWasNotMeasuredIsEmpty) {
  const Case read = one("id: a, tier: A, job: " + kJob + ", measured: {fits: false}");
  EXPECT_FALSE(read.row.measured_s);
  EXPECT_FALSE(read.row.measured_bytes);
  EXPECT_EQ(read.row.measured_fits, false);
  EXPECT_EQ(read.row.memory_kind, "unknown");
  EXPECT_EQ(read.row.did_fit(), false);
}

TEST_F(CaseReader, AStepThatWasTimedDidFit) {
  const Case read = one("id: a, tier: A, job: " + kJob + ", measured: {step_time: 1s}");
  EXPECT_FALSE(read.row.measured_fits);  // the file does not say so
  EXPECT_EQ(read.row.did_fit(), true);
}

TEST_F(CaseReader, ASourceMayBeDeeperOrOneText) {
  EXPECT_EQ(read("{source: {paper: {title: T, authors: [A, B]}}, cases: []}").source,
            (result::Labels{{"paper.title", "T"}, {"paper.authors", "A, B"}}));
  EXPECT_EQ(read("{source: our own run, cases: []}").source, (result::Labels{{"source", "our own run"}}));
}

TEST_F(CaseReader, AFaultOfTheJobIsTheRowsAndTheOthersStand) {
  const CaseFile file = read(
      "cases:\n- {id: bad, tier: A, job: {model: smal, cluster: {node: box-8}, training: {sequence: 8, "
      "global_batch: 8}}, measured: {step_time: 1s}}\n- {id: good, tier: A, job: " +
      kJob + ", measured: {step_time: 1s}}\n");
  ASSERT_EQ(file.cases.size(), 2u);
  const result::ValidationCase& bad = file.cases[0].row;
  EXPECT_TRUE(bad.refused());
  EXPECT_FALSE(file.cases[0].job);
  EXPECT_EQ(bad.error_message.find("cases.yaml:2:35: error: model: "), 0u) << bad.error_message;
  EXPECT_NE(bad.error_message.find("did you mean small?"), std::string::npos) << bad.error_message;
  EXPECT_EQ(bad.id, "bad");
  EXPECT_EQ(bad.measured_s, 1);
  EXPECT_FALSE(file.cases[1].row.refused()) << file.cases[1].row.error_message;
}

TEST_F(CaseReader, EveryFaultOfACaseIsTold) {
  const Case read = one("id: a, teir: A, job: {model: small}, measured: {step_time: 12, memry: 4GB}");
  for (const char* text : {"cases[0].tier: is missing", "cases[0].teir: unknown key", "cluster.node: is missing",
                           "cases[0].measured.step_time: '12' has no unit", "did you mean memory?"}) {
    EXPECT_NE(read.row.error_message.find(text), std::string::npos) << text << "\n" << read.row.error_message;
  }
}

TEST_F(CaseReader, WhatDoesNotFitTakesNoStep) {
  const Case read = one("id: a, tier: A, job: " + kJob + ", measured: {fits: false, step_time: 1s}");
  EXPECT_NE(read.row.error_message.find("measured.fits: is false beside a step_time"), std::string::npos)
      << read.row.error_message;
}

TEST_F(CaseReader, ACaseWithoutItsPartsIsRefusedUnderItsPosition) {
  EXPECT_EQ(one("tier: A, job: " + kJob + ", measured: {fits: true}").row.id, "#1");
  const auto refused = [&](const std::string& keys, const char* why) {
    const std::string message = one(keys).row.error_message;
    EXPECT_NE(message.find(why), std::string::npos) << message;
  };
  refused("id: a, tier: A, measured: {fits: true}", "cases[0].job: is missing");
  refused("id: a, tier: A, job: " + kJob, "cases[0].measured: is missing");
  refused("id: a, tier: A, job: " + kJob + ", measured: {}", "cases[0].measured: holds nothing that was measured");
  refused("id: a, tier: C, job: " + kJob + ", measured: {fits: true}", "cases[0].tier: 'C' is not known");
  refused("id: a, tier: A, job: " + kJob + ", measured: {step_time: 0s}", "is not above zero");
  refused("id: a, tier: A, job: " + kJob + ", measured: {step_time: -1s}", "measured.step_time: ");
  refused("id: a, tier: A, job: " + kJob + ", measured: {memory: 0GB}", "is not above zero");
  refused("id: a, tier: A, job: " + kJob + ", measured: {memory: 1GB, memory_kind: peak}", "'peak' is not known");
}

TEST_F(CaseReader, ACaseThatIsNoMapIsRefused) {
  const CaseFile file = read("cases: [text, [1, 2], null]");
  ASSERT_EQ(file.cases.size(), 3u);
  for (const Case& read : file.cases) EXPECT_TRUE(read.row.refused());
  EXPECT_EQ(file.cases[1].row.id, "#2");
}

TEST_F(CaseReader, ABrokenFileThrows) {
  EXPECT_EQ(broken("source: {}"),
            "cases.yaml:1:1: error: cases: is missing\n"
            "  mend: write `cases:` and below it `- {id, tier, job, measured}` for each of them");
  EXPECT_NE(broken("cases: {a: 1}").find("cases: is not a list"), std::string::npos);
  EXPECT_NE(broken("{cases: [], sorce: x}").find("did you mean source?"), std::string::npos);
  EXPECT_NE(broken("[1, 2]").find("is not a map"), std::string::npos);
  EXPECT_NE(broken("cases: [").find("error: "), std::string::npos);
  EXPECT_THROW(read_cases("/nowhere/cases.yaml", small_.catalogue()), base::InputError);
}

TEST_F(CaseReader, AFileWithoutCasesHasNone) { EXPECT_TRUE(read("cases: []").cases.empty()); }

}  // namespace
}  // namespace config::testing
