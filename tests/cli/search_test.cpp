// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "real/launch/spawn.h"
#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::contains;
using testing_support::content_of;
using testing_support::forerun;
using testing_support::ScratchFolder;

const std::string kSmall =
    "search --model llama3-8b --node dgx-h100 --sequence 4096 --global-batch 16 --fix attention_kernel=cudnn "
    "--fix cp=1 ";

TEST(SearchCommand, TheBestComesFirstAndIsAPrediction) {
  const Answer run = forerun(kSmall + "--top 3 --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json answer = json::parse(run.out);
  EXPECT_EQ(answer["schema"], 1);
  EXPECT_EQ(answer["evaluated"], answer["strategies"]);
  ASSERT_EQ(answer["results"].size(), 3u);
  for (std::size_t i = 1; i < 3; ++i)
    EXPECT_GE(answer["results"][i]["step_time_s"], answer["results"][i - 1]["step_time_s"]);
  const json& best = answer["results"][0];
  std::string flags = "predict --model llama3-8b --node dgx-h100 --sequence 4096 --global-batch 16 --json - ";
  for (const auto& [key, value] : best["strategy"].items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    flags += "--set " + std::string(key == "micro_batch" ? "training." : "strategy.") + key + "=" + text + " ";
  }
  const json alone = json::parse(forerun(flags).out);
  EXPECT_EQ(best["step_time_s"], alone["step_time_s"]);
  EXPECT_EQ(best["memory"]["peak_bytes"], alone["memory"]["peak_bytes"]);
}

TEST(SearchCommand, WhatTheFrameworkCannotSayIsTold) {
  // torchtitan shards all of the state or nothing; its own zero 3 is told nothing of.
  const std::string titan = kSmall + "--framework torchtitan --fix tp=2 --fix pp=1 --top 1 --json - --fix zero=";
  const json other = json::parse(forerun(titan + "1").out), own = json::parse(forerun(titan + "3").out);
  ASSERT_EQ(other["results"].size() + own["results"].size(), 2u);
  EXPECT_TRUE(contains(other["results"][0]["warnings"].dump(), "strategy.zero: torchtitan cannot say '1'"));
  EXPECT_TRUE(
      contains(other["notes"].dump(),
               "torchtitan cannot say 1 of the 1 strategies shown (see their warnings; --launchable keeps to what "
               "it can)"))
      << other["notes"].dump();
  EXPECT_FALSE(contains(own["results"][0]["warnings"].dump(), "cannot say"));
  EXPECT_TRUE(own["notes"].empty()) << own["notes"].dump();
}

TEST(SearchCommand, LaunchableKeepsToWhatTheFrameworkCanSay) {
  // Megatron-LM has no zero-bubble schedule, which is faster than 1F1B.
  const std::string some = kSmall + "--fix tp=2 --fix pp=2 --fix micro_batch=1 --fix recompute=none --json - ";
  const std::string two = some + "--allow schedule=1f1b,zb-h1 ";
  const json all = json::parse(forerun(two + "--top 1").out),
             own = json::parse(forerun(two + "--top 20 --launchable").out);
  EXPECT_FALSE(all["notes"].empty()) << all["results"][0]["strategy"];
  EXPECT_TRUE(own["notes"].empty()) << own["notes"].dump();
  EXPECT_GT(own["unwanted"], 0);
  EXPECT_EQ(own["strategies"], own["evaluated"]);
  EXPECT_GE(own["results"][0]["step_time_s"], all["results"][0]["step_time_s"]);
  // The same as without it in the space.
  const json allowed = json::parse(forerun(some + "--top 1 --fix schedule=1f1b").out);
  EXPECT_EQ(own["results"][0]["strategy"], allowed["results"][0]["strategy"]);
  const Answer none = forerun(some + "--fix schedule=zb-h1 --launchable");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_TRUE(contains(none.err, "--launchable: megatron can say none of the")) << none.err;
  const Answer unknown = forerun(some + "--framework none --launchable");
  EXPECT_TRUE(contains(unknown.err, "--launchable: no launcher is known for framework none")) << unknown.err;
}

TEST(SearchCommand, LaunchableLosesNothingToWhatElseIsAllowed) {
  // torchtitan can say zero 0 or 3 of plain data parallelism, of tensor parallel ranks zero 3 alone.
  const std::string some =
      "search --model llama3.2-1b --node dgx-h100 --sequence 2048 --global-batch 64 --framework torchtitan --fix cp=1 "
      "--fix pp=1 --fix micro_batch=1 --fix recompute=none --top 100 --launchable --json - ";
  const auto strategies = [&](const std::string& zero) {
    std::set<std::string> out;
    const json answer = json::parse(forerun(some + "--allow zero=" + zero).out);
    for (const json& row : answer["results"]) out.insert(row["strategy"].dump());
    return out;
  };
  const std::set<std::string> few = strategies("0,3"), more = strategies("0,1,3");
  EXPECT_GT(few.size(), 3u);
  EXPECT_TRUE(std::ranges::includes(more, few)) << few.size() << " and " << more.size();
}

TEST(SearchCommand, KeysThatAreGivenAreFixedAndFreedOnesAreNot) {
  const json fixed = json::parse(forerun(kSmall + "--tp 2 --zero 1 --json -").out);
  EXPECT_TRUE(fixed["space"]["tp"]["given"]);
  EXPECT_EQ(fixed["space"]["tp"]["strategies"].size(), 1u);
  const json freed = json::parse(forerun(kSmall + "--tp 2 --zero 1 --free tp --json -").out);
  EXPECT_GT(freed["space"]["tp"]["strategies"].size(), 1u);
  EXPECT_EQ(freed["space"]["zero"]["strategies"].size(), 1u);
}

TEST(SearchCommand, AKeyThatIsSetFreeKeepsTheValueOfTheFileAmongOthers) {
  // gpipe is left out unless asked for, and so is a rank's part of less than 2,048 tokens of a sequence.
  const std::string command =
      "search --model llama3-8b --node dgx-h100 --sequence 2048 --global-batch 16 --tp 1 --zero 1 ";
  const json schedule = json::parse(forerun(command + "--cp 1 --pp 2 --schedule gpipe --free schedule --json -").out);
  EXPECT_TRUE(schedule["space"]["schedule"]["strategies"].contains("gpipe"));
  EXPECT_TRUE(schedule["space"]["schedule"]["strategies"].contains("1f1b"));
  const json cp = json::parse(forerun(command + "--cp 2 --pp 1 --free cp --json -").out);
  EXPECT_TRUE(cp["space"]["cp"]["strategies"].contains("2"));
}

TEST(SearchCommand, AFreedKeyMakesNoTwins) {
  // Of what any value comes to the same the file's own is not tried beside the usual one.
  const std::string small =
      "search --model llama3-8b --node dgx-h100 --sequence 2048 --global-batch 16 --zero 1 --cp 1 ";
  const auto count = [](const std::string& command) {
    return json::parse(forerun(command + " --json -").out)["strategies"].get<int>();
  };
  const std::string plain = small + "--pp 1 --fix attention_kernel=cudnn --set strategy.embedding_in_split=";
  EXPECT_EQ(count(plain + "true --free embedding_in_split"), count(plain + "false"));
  const std::string decode = small + "--pp 1 --set training.mode=decode --set strategy.attention_kernel=flash2 ";
  EXPECT_EQ(count(decode + "--free attention_kernel"), count(decode));
}

TEST(SearchCommand, DecodingIsOrderedByTheTimeOfAToken) {
  const json answer =
      json::parse(forerun("search --model llama3-8b --node a100-pcie-80gb-x8 --sequence 1024 --global-batch 64 --set "
                          "training.mode=decode "
                          "--set strategy.cuda_graphs=true --fix cp=1 --by cost --price 1 --top 20 --json -")
                      .out);
  const json& rows = answer["results"];
  ASSERT_GT(rows.size(), 4u);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_LE(rows[i - 1]["time_per_output_token_s"], rows[i]["time_per_output_token_s"]) << i;
    EXPECT_LE(rows[i - 1]["cost_per_million_tokens"], rows[i]["cost_per_million_tokens"].get<double>() * (1 + 1e-12))
        << i;
  }
  EXPECT_EQ(answer["pareto"][0]["time_per_output_token_s"], rows[0]["time_per_output_token_s"]);
  EXPECT_EQ(answer["pareto"][0]["step_time_s"], rows[0]["step_time_s"]);
}

TEST(SearchCommand, AllowedValuesAreSearchedAndNoOthers) {
  const json answer =
      json::parse(forerun(kSmall + "--allow zero=1,3 --allow 'recompute={kind: full, layers: 2},none' --json -").out);
  EXPECT_EQ(answer["space"]["zero"]["strategies"].size(), 2u);
  EXPECT_TRUE(answer["space"]["recompute"]["strategies"].contains("{kind: full, layers: 2}"));
}

TEST(SearchCommand, SlipsOfThePenAreToldWithTheNearestName) {
  const Answer key = forerun(kSmall + "--fix micro_bach=2");
  EXPECT_EQ(key.exit_code, 2);
  EXPECT_TRUE(contains(key.err, "did you mean micro_batch?")) << key.err;
  const Answer value = forerun(kSmall + "--allow schedule=1f1b,interleavd");
  EXPECT_EQ(value.exit_code, 2);
  EXPECT_TRUE(contains(value.err, "interleaved")) << value.err;
  const Answer by = forerun(kSmall + "--by steptime");
  EXPECT_EQ(by.exit_code, 2);
  EXPECT_TRUE(contains(by.err, "did you mean step_time?")) << by.err;
  EXPECT_TRUE(contains(forerun(kSmall + "--fix tp").err, "has no value"));
  EXPECT_TRUE(contains(forerun(kSmall + "--fix tp=2,4").err, "write --allow tp=2,4")) << "a key is fixed to one value";
  EXPECT_TRUE(contains(forerun(kSmall + "--allow tp=").err, "write KEY=VALUE"));
  EXPECT_TRUE(contains(forerun(kSmall + "--top 0").err, "--top"));
  EXPECT_TRUE(contains(forerun(kSmall + "--by cost").err, "--price"));
}

TEST(SearchCommand, CostFollowsThePriceOfAGpu) {
  // 8 GPUs at 3.6 an hour are 0.008 a second; a million tokens take 1e6 / tokens_per_s of them.
  const json best = json::parse(forerun(kSmall + "--by cost --price 3.6 --top 1 --json -").out)["results"][0];
  EXPECT_NEAR(best["cost_per_million_tokens"].get<double>(), 0.008 * 1e6 / best["tokens_per_s"].get<double>(), 1e-9);
  const json same = json::parse(forerun(kSmall + "--by cost --price '$3.6/h' --top 1 --json -").out)["results"][0];
  EXPECT_EQ(same["cost_per_million_tokens"], best["cost_per_million_tokens"]);
  const Answer day = forerun(kSmall + "--by cost --price '$3.6/d'");
  EXPECT_EQ(day.exit_code, 2);
  EXPECT_TRUE(contains(day.err, "--price '$2.5/h'")) << day.err;
}

TEST(SearchCommand, AKeyThatIsFixedTwiceIsAFault) {
  const Answer run = forerun(kSmall + "--fix tp=1 --fix tp=2");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "error: --fix: tp is given twice\n")) << run.err;
}

TEST(SearchCommand, TwoThatSayDifferentThingsOfOneKeyAreAFault) {
  const auto message = [](const std::string& flags) { return forerun(kSmall + flags).err; };
  EXPECT_EQ(message("--fix tp=4 --allow tp=2,8"),
            "error: --fix: tp=4 and --allow tp=2,8 both say what tp may be\n  mend: keep one of the two\n");
  EXPECT_EQ(message("--tp 4 --fix tp=8"), "error: --fix: tp=8 contradicts --tp 4\n  mend: keep one of the two\n");
  EXPECT_EQ(message("--set strategy.zero=1 --allow zero=0,1"),
            "error: --allow: zero=0,1 contradicts --set strategy.zero=1\n  mend: keep one of the two\n");
  EXPECT_TRUE(contains(message("--fix tp=4 --fix strategy.tp=8"), "error: --fix: tp is given twice\n"));
  const std::string small = "--fix pp=1 --fix zero=1 --fix micro_batch=1 --top 1 ";
  EXPECT_EQ(message(small + "--tp 4 --fix tp=4"), "");                                              // the same
  EXPECT_EQ(message(small + "--tp 4 --free tp --allow tp=2,4"), "");                                // set free
  EXPECT_EQ(forerun("search llama3-8b-32xh200 --fix tp=2 --fix cp=1 --fix pp=1 --top 1").err, "");  // a file gives way
}

TEST(SearchCommand, AFaultNamesWhatGaveItsField) {
  EXPECT_EQ(forerun(kSmall + "--fix tp=3").err.substr(0, 36), "--fix tp=3: error: strategy.tp: tp 3");
  EXPECT_EQ(forerun("search --model llama3-8b --node dgx-h100 --global-batch 16").err,
            forerun("predict --model llama3-8b --node dgx-h100 --global-batch 16").err);
}

TEST(SearchCommand, TheDpOfAFileIsNoFaultBesideOthers) {
  // Stages interleave and there is one: cp may be 4, so that the dp of 4 fits.
  const Answer run = forerun("search llama3-70b-64xh100 --fix pp=1");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "strategy.schedule: an interleaved schedule needs more than one stage")) << run.err;
  EXPECT_FALSE(contains(run.err, "strategy.dp")) << run.err;
}

TEST(SearchCommand, ADpThatCannotDivideTheGpusIsOneWhateverElseIsOpen) {
  const std::string err = forerun(kSmall + "--fix dp=3").err;
  EXPECT_EQ(err.find("--fix dp=3: error: strategy.dp: "), 0u) << err;
}

TEST(SearchCommand, TheValueOfAFlagThatIsLaidOverIsReadAllTheSame) {
  EXPECT_EQ(forerun(kSmall + "--tp banana --set strategy.tp=8").err,
            "--tp banana: error: strategy.tp: 'banana' is not a whole number\n"
            "  mend: write a whole number from 1 to 1000000\n");
}

TEST(SearchCommand, WhereNothingFitsTheNearestIsToldAndWhatMendsIt) {
  const std::string command =
      "search --model llama3-8b --node dgx-a100-40gb --sequence 4096 --global-batch 16 --fix micro_batch=1 --fix tp=1 "
      "--fix cp=1 --fix pp=1 --fix attention_kernel=flash2 --fix zero=1 --fix recompute=none ";
  const Answer run = forerun(command);
  EXPECT_EQ(run.exit_code, 1) << run.err;
  const json nearest = json::parse(forerun(command + "--json -").out)["nearest"];
  const json alone =
      json::parse(forerun("predict --model llama3-8b --node dgx-a100-40gb --sequence 4096 --global-batch 16 "
                          "--micro-batch 1 --attention-kernel flash2 --zero 1 --json -")
                      .out);
  EXPECT_EQ(nearest["memory"]["peak_bytes"], alone["memory"]["peak_bytes"]);
  EXPECT_EQ(nearest["mends"], alone["mends"]);
  ASSERT_FALSE(nearest["mends"].empty());
  EXPECT_TRUE(contains(run.out, "Nothing fits.\n\nNearest comes tp 1, dp 8, zero 1, micro_batch 1, ")) << run.out;
  EXPECT_TRUE(contains(run.out, "    it fits with " + nearest["mends"][0].get<std::string>() + " ")) << run.out;
}

TEST(SearchCommand, WhereNothingFitsTheExitCodeSaysSo) {
  const Answer run = forerun("search --model llama3.1-405b --node dgx-h100 --sequence 8192 --global-batch 16");
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_TRUE(contains(run.out, "Nothing fits"));
}

TEST(SearchCommand, TheTableHasAColumnForEachKey) {
  const ScratchFolder scratch;
  ASSERT_EQ(forerun(kSmall + "--top 2 --csv '" + (scratch / "best.csv") + "'").exit_code, 0);
  const std::string table = content_of(scratch / "best.csv");
  EXPECT_TRUE(table.starts_with("tp,sp,cp,pp,schedule,vpp,")) << table;
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3);
}

TEST(SearchCommand, ThreeProcessesTellTheAnswerOfOne) {
  const ScratchFolder scratch;
  const std::string flags = "--allow tp=1,2,4 --allow micro_batch=1 --top 5 --threads 1 ";
  ASSERT_EQ(forerun(kSmall + flags + "--json '" + (scratch / "one.json") + "'").exit_code, 0);
  std::vector<std::string> words{"/bin/sh", "-c",
                                 std::string("exec '") + FORERUN_BINARY + "' " + kSmall + flags + "--json '" +
                                     (scratch / "three.json") + "' >/dev/null"};
  EXPECT_TRUE(real::spawn(3, words).empty());
  const json one = json::parse(content_of(scratch / "one.json")),
             three = json::parse(content_of(scratch / "three.json"));
  EXPECT_EQ(three["results"], one["results"]);
  EXPECT_EQ(three["pareto"], one["pareto"]);
  EXPECT_EQ(three["strategies"], one["strategies"]);
  EXPECT_EQ(three["fits"], one["fits"]);
}

/// Whether the process has a handler for SIGINT yet, as the kernel tells it.
bool catches_interrupts(pid_t process) {
  const std::string status = content_of("/proc/" + std::to_string(process) + "/status"), key = "SigCgt:";
  const std::size_t at = status.find(key);
  if (at == status.npos) return false;
  return (std::stoull(status.substr(at + key.size()), nullptr, 16) >> (SIGINT - 1) & 1) != 0;
}

/// Starts the program itself, not by a shell, which would have handlers of its own.
pid_t start(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t silent;
  posix_spawn_file_actions_init(&silent);
  posix_spawn_file_actions_addopen(&silent, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t process = -1;
  EXPECT_EQ(posix_spawn(&process, arguments.front(), &silent, nullptr, arguments.data(), environ), 0);
  posix_spawn_file_actions_destroy(&silent);
  return process;
}

TEST(SearchCommand, InterruptedItTellsTheBestSoFar) {
  // Far more strategies than are looked at before the signal comes, however slow the machine is that sends it.
  const ScratchFolder scratch;
  const std::string out = scratch / "out.json";
  const pid_t process =
      start({FORERUN_BINARY, "search", "--model", "llama3.1-405b", "--node", "dgx-h100", "--nodes", "2048",
             "--sequence", "8192", "--global-batch", "2048", "--threads", "1", "--json", out});
  ASSERT_GT(process, 0);
  int status = 0;
  while (!catches_interrupts(process)) {
    ASSERT_EQ(waitpid(process, &status, WNOHANG), 0) << "ended before it could be interrupted";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(process, SIGINT);
  ASSERT_EQ(waitpid(process, &status, 0), process);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  const json answer = json::parse(content_of(out));
  EXPECT_FALSE(answer["complete"]);
  EXPECT_LE(answer["evaluated"], answer["strategies"]);
}

}  // namespace
