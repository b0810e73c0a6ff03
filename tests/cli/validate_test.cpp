// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::contains;
using testing_support::content_of;
using testing_support::forerun;
using testing_support::ScratchFolder;

/// A file with a sound case of each tier, one that is refused, and one that was only seen to run out of memory.
class Validate : public ::testing::Test {
 protected:
  Validate() {
    const std::string job =
        "{model: llama3-8b, cluster: {node: dgx-h100}, training: {sequence: 4096, global_batch: 16}, strategy: {tp: 4, "
        "zero: "
        "1}}";
    std::ofstream(file_) << "source: {paper: \"A paper\"}\ncases:\n"
                         << "- {id: a, tier: A, job: " << job << ", measured: {step_time: 2s, memory: 40GB}}\n"
                         << "- {id: b, tier: B, job: " << job << ", measured: {step_time: 4s}}\n"
                         << "- {id: bad, tier: A, job: {model: nothing}, measured: {step_time: 2s}}\n"
                         << "- {id: oom, tier: A, job: " << job << ", measured: {fits: false}}\n";
  }
  Answer validate(const std::string& flags) const { return forerun("validate '" + file_ + "' " + flags); }

  ScratchFolder folder_;
  std::string file_ = folder_ / "paper.yaml";
};

TEST_F(Validate, AnAnswerNeverTakesThePlaceOfItsCases) {
  const std::string before = content_of(file_);
  const Answer run = forerun("validate --json '" + file_ + "' '" + file_ + "'");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "error: --json: " + file_ + " is a YAML file that exists, and would be replaced"))
      << run.err;
  EXPECT_EQ(content_of(file_), before);
}

TEST_F(Validate, TwoAnswersDoNotGoIntoOneFile) {
  const std::string one = folder_ / "answer";
  const Answer run = validate("--json '" + one + "' --html '" + one + "'");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "error: --json: " + one + " is what --html names as well")) << run.err;
}

TEST_F(Validate, PrintsATableAndAnswersThoughACaseIsRefused) {
  const Answer run = validate("");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");  // no progress bar: stderr is no terminal
  EXPECT_TRUE(contains(run.out, "\npaper                           2       1 ")) << run.out;
  EXPECT_TRUE(contains(run.out, "\nall rows ")) << run.out;
  EXPECT_TRUE(contains(run.out, "Refused (1)")) << run.out;
}

TEST_F(Validate, JsonOnStdoutIsOnlyJsonWithARowForEveryCase) {
  const Answer run = validate("--json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json answer = json::parse(run.out);
  EXPECT_EQ(answer["schema"], 1);
  const json& file = answer["files"][0];
  EXPECT_EQ(file["file"], file_);
  EXPECT_EQ(file["source"], json({{"paper", "A paper"}}));
  ASSERT_EQ(file["cases"].size(), 4u);
  const json& a = file["cases"][0];
  EXPECT_DOUBLE_EQ(a["error"].get<double>(), a["predicted_s"].get<double>() / 2 - 1);
  EXPECT_DOUBLE_EQ(a["memory_error"].get<double>(), a["predicted_bytes"].get<double>() / 40e9 - 1);
  EXPECT_TRUE(contains(file["cases"][2]["error_message"], "paper.yaml:5:")) << file["cases"][2];
  EXPECT_EQ(file["cases"][3]["measured_fits"], false);
  EXPECT_EQ(answer["summary"]["rows"], 2);
  EXPECT_EQ(answer["summary"]["refused"], 1);
  EXPECT_EQ(answer["summary"]["memory_rows"], 1);
  EXPECT_EQ(answer["summary"]["fits_rows"], 3);       // a and b were timed, so they fitted; oom did not
  EXPECT_EQ(answer["summary"]["missed_misfits"], 1);  // 8e9 parameters do fit 8 GPUs of 80 GB
}

TEST_F(Validate, APredictionIsThatOfPredict) {
  const json row = json::parse(validate("--json -").out)["files"][0]["cases"][0];
  const json predicted = json::parse(
      forerun("predict --model llama3-8b --node dgx-h100 --sequence 4096 --global-batch 16 --tp 4 --zero 1 --json -")
          .out);
  EXPECT_EQ(row["predicted_s"], predicted["step_time_s"]);
  EXPECT_EQ(row["low_s"], predicted["step_time_low_s"]);
  EXPECT_EQ(row["high_s"], predicted["step_time_high_s"]);
  EXPECT_EQ(row["predicted_bytes"], predicted["memory"]["reserved_bytes"]);
}

TEST_F(Validate, TierAKeepsTheCompleteCases) {
  const json answer = json::parse(validate("--tier A --json -").out);
  EXPECT_EQ(answer["files"][0]["cases"].size(), 3u);
  EXPECT_EQ(answer["summary"]["rows"], 1);
  EXPECT_EQ(validate("--tier C").exit_code, 2);
}

TEST_F(Validate, GroupsByKeys) {
  const Answer run = validate("--group-by tp,tp+model");
  EXPECT_TRUE(contains(run.out, "\nBy tp ")) << run.out;
  EXPECT_TRUE(contains(run.out, "\nBy tp+model ")) << run.out;
  EXPECT_TRUE(contains(run.out, "\n4 + llama3-8b ")) << run.out;
  EXPECT_EQ(json::parse(validate("--group-by tp --json -").out)["groups"]["tp"]["4"]["rows"], 2);
  const Answer wrong = validate("--group-by tp,modle");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.err, "error: --group-by: there is no key 'modle'\n  mend: did you mean model?\n");
}

TEST_F(Validate, FitsTheIntervalsConstants) {
  const Answer run = validate("--fit-interval");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.out, "\nsoftware stack ")) << run.out;
  EXPECT_TRUE(contains(run.out, "\npaper ")) << run.out;
}

/// Two files of five rows each under torch, measured at twice and at half of each other.
class ValidateHoldout : public Validate {
 protected:
  ValidateHoldout() {
    for (const char* name : {"one", "two"}) {
      std::ofstream out(folder_ / (std::string(name) + ".yaml"));
      out << "cases:\n";
      for (int i = 1; i <= 5; ++i) {
        out << "- {id: " << name << i
            << ", tier: A, job: {model: llama3-8b, cluster: {node: dgx-h100}, training: {sequence: "
            << "1024, global_batch: " << 16 * i
            << "}, strategy: {tp: 8, zero: 1, framework: torch}}, measured: {step_time: " << (name[0] == 'o' ? 1 : 4)
            << "s}}\n";
      }
    }
  }
  Answer holdout(const std::string& flags) const {
    return forerun("validate '" + (folder_ / "one.yaml") + "' '" + (folder_ / "two.yaml") + "' " + flags);
  }
};

TEST_F(ValidateHoldout, LeavesEachSourceOut) {
  const Answer run = holdout("--holdout source");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "Left out, by source ")) << run.out;
  EXPECT_TRUE(contains(run.out, "\none ")) << run.out;
  EXPECT_TRUE(contains(run.out, "\nHeld out over in-sample: ")) << run.out;
  const json told = json::parse(holdout("--holdout source --json -").out);
  EXPECT_EQ(told["files"].size(), 2u);
  EXPECT_EQ(told["holdout"]["groups"].size(), 2u);
  EXPECT_EQ(told["holdout"]["catalogue"]["median_abs_error"], told["summary"]["macro"]["median_abs_error"]);
}

TEST_F(ValidateHoldout, ChoosesFromAnotherFile) {
  std::ofstream(folder_ / "choices.yaml")
      << "choices:\n- name: host\n  decides: launch\n  present: now\n  alternatives:\n"
      << "    now: {source: s, overrides: {frameworks: {torch: {launch: 40us}}}}\n"
      << "    slow: {source: s, overrides: {frameworks: {torch: {launch: 4ms}}}}\n";
  const json told =
      json::parse(holdout("--holdout source --choices '" + (folder_ / "choices.yaml") + "' --json -").out);
  ASSERT_EQ(told["holdout"]["choices"].size(), 1u);
  EXPECT_EQ(told["holdout"]["choices"][0]["alternatives"][1]["rows"], 10);
}

TEST_F(ValidateHoldout, RefusesWhatItCannotTell) {
  const auto refused = [&](const std::string& flags, const char* why) {
    const Answer run = holdout(flags);
    EXPECT_EQ(run.exit_code, 2) << flags;
    EXPECT_TRUE(contains(run.err, why)) << run.err;
  };
  refused("--holdout sorce", "error: --holdout: there is no key 'sorce'\n  mend: did you mean source?");
  refused("--holdout source,gpu", "--holdout: names several keys");
  refused("--holdout gpu", "no two groups by 'gpu' have 5 rows");  // all are H100
  refused("--holdout source --markdown", "--markdown: is another table");
  refused("--choices x.yaml", "--choices: is read by --holdout alone");
}

TEST_F(Validate, MarkdownIsATableAlone) {
  const Answer run = validate("--markdown");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out.find("| Measurements "), 0u);
  EXPECT_TRUE(contains(run.out, "\n| paper | A paper | 2 (1 refused) | ")) << run.out;
}

TEST_F(Validate, SeveralFilesEachHaveTheirSummary) {
  const std::string copy = folder_ / "other.yaml";
  std::ofstream(copy) << content_of(file_);
  const json answer = json::parse(validate("'" + copy + "' --json -").out);
  ASSERT_EQ(answer["files"].size(), 2u);
  EXPECT_EQ(answer["files"][1]["summary"]["rows"], 2);
  EXPECT_EQ(answer["summary"]["rows"], 4);
}

TEST_F(Validate, QuietWritesItsFileAndPrintsNothing) {
  const Answer run = validate("--quiet --json '" + (folder_ / "out.json") + "'");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out + run.err, "");
  EXPECT_EQ(json::parse(content_of(folder_ / "out.json"))["files"].size(), 1u);
}

TEST_F(Validate, EveryBrokenFileIsToldAndNothingIsPrinted) {
  std::ofstream(folder_ / "one.yaml") << "source: {}\n";
  std::ofstream(folder_ / "two.yaml") << "cases: [\n";
  const Answer run = validate("'" + (folder_ / "one.yaml") + "' '" + (folder_ / "two.yaml") + "' --json -");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(contains(run.err, "one.yaml:1:1: error: cases: is missing")) << run.err;
  EXPECT_TRUE(contains(run.err, "two.yaml:")) << run.err;
}

TEST_F(Validate, NoCaseCountsTwiceAndAFileHasOneAtLeast) {
  EXPECT_TRUE(contains(validate("'" + file_ + "'").err, "error: FILE: " + file_ + " is named twice"));
  EXPECT_EQ(validate("'" + (folder_ / ".") + "/paper.yaml'").exit_code, 2);  // by another path
  std::ofstream(folder_ / "none.yaml") << "cases: []\n";
  const Answer run = forerun("validate '" + (folder_ / "none.yaml") + "'");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "none.yaml: error: cases: is empty")) << run.err;
}

TEST_F(Validate, ATierThatNoCaseIsOfIsAFault) {
  std::ofstream(folder_ / "a.yaml") << "cases:\n- {id: a, tier: A, job: {}, measured: {fits: true}}\n";
  const Answer run = forerun("validate --tier B '" + (folder_ / "a.yaml") + "'");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "error: --tier: no case is of tier B")) << run.err;
}

TEST_F(Validate, OneTableAtATime) {
  const Answer run = validate("--markdown --ranking");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "error: --markdown: is another table than --ranking's")) << run.err;
}

TEST_F(Validate, WithoutAFileItFails) {
  const Answer run = forerun("validate");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "error: FILE: is missing")) << run.err;
}

}  // namespace
