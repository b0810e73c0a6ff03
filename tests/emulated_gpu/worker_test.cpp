// tests/emulated_gpu/worker_test.cpp -- `forerun measure` and `forerun calibrate` as a user runs them, with a worker
// whose GPU is emulated. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing_support::Answer;
using testing_support::content_of;
using testing_support::forerun;
using testing_support::ScratchFolder;

/// A variable of the environment, for as long as it lives.
class Told {
 public:
  Told(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Told() { unsetenv(name_); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

 private:
  const char* name_;
};

std::string job_in(const ScratchFolder& folder, const std::string& more = "", int nodes = 1) {
  const std::string path = folder / "job.yaml";
  std::ofstream(path) << "model: {name: tiny, layers: 2, hidden: 64, heads: 4, kv_heads: 2, head_dim: 16, ffn: 96, "
                         "gated_mlp: true, activation: swiglu, vocab: 64, norm: rmsnorm, position: rope}\n"
                         "cluster: {node: {base: dgx-h100, gpus: 1}, nodes: "
                      << nodes
                      << "}\n"
                         "training: {sequence: 16, global_batch: 2, micro_batch: 1, precision: bf16}\n"
                         "strategy: {"
                      << more << "}\n";
  return path;
}

/// The losses of the first steps, of GPUs and of the CPU backend.
void expect_near(const json& measured, const json& cpu, std::size_t steps) {
  for (std::size_t i = 0; i < steps; ++i) {
    EXPECT_NEAR(measured["losses"][i].get<double>() / cpu["steps"][i]["loss"].get<double>(), 1, 0.005);
  }
}

TEST(Worker, SaysThatAllWorksHere) {
  const Answer run = forerun("measure");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("GPU: emulated GPU, compute capability 9.0"));
  EXPECT_THAT(run.out, HasSubstr("recording: 4 records, 4 operators, 0 orphans, 0 dropped\n"));
  EXPECT_THAT(run.out, HasSubstr("NCCL: sums of 1 rank and of pairs are right\n"));
  EXPECT_THAT(run.out,
              HasSubstr("condition: driver emulated, emulated GPU, SMs 1.00 GHz, memory 1.00 GHz, power 70.0 W, "
                        "30 degrees Celsius, slowed by power limit\n"));
}

TEST(Worker, SaysWhatToTryWhereASumOfNcclsNeverEnds) {
  const Told deaf("FORERUN_EMULATED_DEAF", "1"), patience("FORERUN_JOIN_SECONDS", "2");
  const Answer run = forerun("measure");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("NCCL's sum over all ranks did not end within 2.00 s: these GPUs may not reach one "
                                 "another's memory\n  mend: run it again with NCCL_P2P_DISABLE=1"));
}

TEST(Worker, SaysWhatIsNotToldOfASliceOfACard) {
  const Told slice("FORERUN_EMULATED_SLICE", "1");
  EXPECT_THAT(forerun("measure").out,
              HasSubstr("emulated GPU, SMs unknown, memory unknown, power unknown, temperature unknown\n"));
}

TEST(Worker, TrainsAJobAsTheCpuDoesAndRecordsAStepThatAlignsWithThePrediction) {
  const ScratchFolder folder;
  const std::string job = job_in(folder), trace = folder / "t.json", gpu = folder / "gpu.json",
                    page = folder / "p.html";
  const Answer run =
      forerun("measure " + job + " --steps 2 --warmup 1 --trace " + trace + " --json " + gpu + " --html " + page);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json measured = json::parse(content_of(gpu)),
             cpu = json::parse(forerun("measure " + job + " --backend cpu --steps 3 --json -").out);
  ASSERT_EQ(measured["losses"].size(), 3u);
  expect_near(measured, cpu, 3);
  const json& memory = measured["memory"];
  EXPECT_GE(memory["reserved_bytes"], memory["peak_bytes"]);
  EXPECT_TRUE(memory["beside"]["communicators_bytes"].is_number_integer());
  EXPECT_GE(measured["conditions"][0]["readings"], 1);
  EXPECT_EQ(measured["conditions"][0]["sm_clock_low_hz"], 1e9);
  EXPECT_THAT(content_of(page), HasSubstr("<section id=\"losses\""));

  const Answer against = forerun("explain " + job + " --against " + trace);
  EXPECT_EQ(against.exit_code, 0) << against.err;
  EXPECT_THAT(against.out, ContainsRegex("Step time .* predicted, .* measured"));
  EXPECT_THAT(against.out, testing::Not(HasSubstr("unpredicted")));
  const Answer validated = forerun("validate --measured " + trace);
  EXPECT_EQ(validated.exit_code, 0) << validated.err;
}

TEST(Worker, LearnsFromAFileAsTheCpuDoes) {
  const ScratchFolder folder;
  std::string text;  // 0 1 2 ... 31, over and over
  for (int i = 0; i < 512; ++i) text += std::string{static_cast<char>(i % 32), '\0'};
  std::ofstream(folder / "ids", std::ios::binary) << text;
  const std::string command = "measure " + job_in(folder) + " --json - --tokens " + (folder / "ids");
  const Answer run = forerun(command + " --steps 3 --warmup 1");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json measured = json::parse(run.out), cpu = json::parse(forerun(command + " --backend cpu --steps 4").out);
  EXPECT_EQ(measured["tokens"], folder / "ids");
  expect_near(measured, cpu, 4);
  const Answer wrong = forerun("measure " + job_in(folder) + " --tokens /no/such/file");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("cannot read /no/such/file"));
}

TEST(Worker, CapturesAStep) {
  const ScratchFolder folder;
  const Answer run = forerun("measure " + job_in(folder, "cuda_graphs: true") + " --steps 3 --warmup 1 --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json measured = json::parse(run.out);
  EXPECT_EQ(measured["steps_s"].size(), 3u);
  EXPECT_EQ(measured["losses"].size(), 2u);  // of the warm-up and of the step that was captured
}

// Idle kernels leave what was in memory before: bits of a signalling pattern, which are no number.
TEST(Worker, ALossThatIsNoNumberIsNoFailure) {
  const Told idle("FORERUN_EMULATED_IDLE", "1");
  const ScratchFolder folder;
  const Answer run = forerun("measure " + job_in(folder) + " --steps 1 --warmup 0 --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(json::parse(run.out)["losses"][0].is_null()) << run.out;
}

/// Of the stage that a rank is of, what explain tells without a counterpart among the Plan's operators.
std::vector<std::string> unpredicted(const std::string& job, const std::string& trace, int rank) {
  const Answer run = forerun("explain " + job + " --against " + trace + " --json - --rank " + std::to_string(rank));
  if (run.exit_code != 0) return {run.err};
  std::vector<std::string> out;
  for (const json& part : json::parse(run.out)["parts"]) {
    if (part["kind"] == "only_measured") out.push_back(part["name"]);
  }
  return out;
}

TEST(Worker, RanksOfTheirOwnProcessesTrainAsTheCpuDoesAndRecordEachStage) {
  const ScratchFolder folder;
  const std::string job = job_in(folder, "tp: 2, sp: true, pp: 2, schedule: 1f1b"), trace = folder / "t.json";
  const std::string command = "measure " + job + " --json - --set cluster.node.gpus=4";
  const Answer run = forerun(command + " --steps 2 --warmup 1 --trace " + trace);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json measured = json::parse(run.out), cpu = json::parse(forerun(command + " --backend cpu --steps 3").out);
  expect_near(measured, cpu, 3);
  const std::string of_four = job + " --set cluster.node.gpus=4";
  EXPECT_THAT(unpredicted(of_four, trace, 0), testing::IsEmpty());
  EXPECT_THAT(unpredicted(of_four, trace, 2), testing::IsEmpty());
}

/// Ranks as torchrun starts them on `ranks` machines of one GPU, all of them here: what the shell's `wait` says of
/// each, 0 behind 0.
int run_on_nodes(int ranks, int port, const std::string& words) {
  std::string command;
  for (int rank = 0; rank < ranks; ++rank) {
    command += "(export WORLD_SIZE=" + std::to_string(ranks) + " RANK=" + std::to_string(rank) +
               " LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port) +
               "; exec '" + std::getenv("FORERUN_WORKER") + "' " + words + ") & p" + std::to_string(rank) + "=$!; ";
  }
  for (int rank = 0; rank < ranks; ++rank) command += "wait $p" + std::to_string(rank) + " || s=$?; ";
  const int status = std::system((command + "exit ${s:-0}").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int free_port() { return 21000 + getpid() % 8000; }

TEST(Worker, ALaunchersRanksLeaveARecordedStepThatForerunReads) {
  const ScratchFolder folder;
  const std::string job = job_in(folder, "pp: 2, schedule: 1f1b", 2), trace = folder / "t.json",
                    page = folder / "p.html", timeline = folder / "timeline.json";
  ASSERT_EQ(run_on_nodes(2, free_port(), "run " + job + " --steps 2 --warmup 1 --trace " + trace + " >/dev/null"), 0);
  EXPECT_THAT(unpredicted(job, trace, 0), testing::IsEmpty());
  EXPECT_THAT(unpredicted(job, trace, 1), testing::IsEmpty());
  const Answer validated = forerun("validate " + job + " --measured " + trace);
  EXPECT_EQ(validated.exit_code, 0) << validated.err;
  EXPECT_THAT(forerun("validate --measured " + trace).err,
              HasSubstr("JOB: is missing, and the trace holds no prediction"));
  EXPECT_THAT(forerun("explain " + job + " --set training.sequence=32 --against " + trace).err,
              HasSubstr("training.sequence: the step was recorded with 16, the job has 32"));

  const Answer drawn = forerun("explain " + job + " --against " + trace + " --html " + page + " --trace " + timeline);
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_THAT(content_of(page), HasSubstr("<section id=\"difference\""));
  EXPECT_EQ(forerun("validate --measured " + timeline).exit_code, 0);  // as one of measure --trace
}

TEST(Worker, RanksThatAreToldDifferentThingsSaySoBeforeTheyMeet) {
  const ScratchFolder folder;
  const std::string job = job_in(folder, "tp: 2"), said = folder / "said";
  const int status = run_on_nodes(2, free_port(), "run " + job + " --set cluster.nodes=2 --steps 1$RANK 2>>" + said);
  EXPECT_EQ(status, 3);
  EXPECT_THAT(content_of(said),
              ContainsRegex("rank 1 \\(.*\\) does not do what rank 0 does: --steps is 11, rank 0 has 10"));
}

/// A worker whose command line has this word; 0: none runs.
pid_t worker_with(const std::string& word) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename(), command = content_of(entry.path() / "cmdline");
    const bool process = name.find_first_not_of("0123456789") == std::string::npos;
    if (process && command.find("emulated_worker") < command.find('\0') && command.find(word) != std::string::npos) {
      return std::stoi(name);
    }
  }
  return 0;
}

// The one that stays waits in a collective; its watchdog knows of the other from the launcher.
TEST(Worker, ARankThatDiesEndsTheOthersAndIsNamed) {
  const ScratchFolder folder;
  const std::string job = job_in(folder, "tp: 2");
  std::jthread killer([&](const std::stop_token& over) {
    while (!over.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      if (const pid_t worker = worker_with(job); worker != 0) return void(kill(worker, SIGKILL));
    }
  });
  const Answer run = forerun("measure " + job + " --set cluster.node.gpus=2 --steps 20000 --warmup 1");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, ContainsRegex("rank [01] (was ended by signal 9|.*ended before the others)"));
}

// At once: 100,000 steps would not be over when the test's patience is. Without a trace nobody is asked.
TEST(Worker, SaysBeforeTheFirstStepThatAnotherProfilerIsAtWork) {
  const ScratchFolder folder;
  const Told other("FORERUN_EMULATED_PROFILER", "compute-sanitizer");
  const std::string job = job_in(folder), trace = folder / "t.json";
  const Answer run = forerun("measure " + job + " --steps 100000 --trace " + trace);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("another profiler is at work (compute-sanitizer); run without it"));
  EXPECT_FALSE(std::filesystem::exists(trace));
  EXPECT_EQ(forerun("measure " + job + " --steps 1 --warmup 1").exit_code, 0);
}

TEST(Worker, TimesEveryPointOfACalibrationWhichThenPredicts) {
  const Told idle("FORERUN_EMULATED_IDLE", "1"), name("FORERUN_EMULATED_NAME", "NVIDIA H100 80GB HBM3");
  const ScratchFolder folder;
  const std::string points = folder / "c.points.jsonl";
  ASSERT_EQ(std::system(("'" + std::string(std::getenv("FORERUN_WORKER")) + "' calibrate '" + points +
                         "' --seconds 40 --date 2026-01-02 2>/dev/null")
                            .c_str()),
            0);
  std::map<std::string, int> timed, refused;
  std::istringstream lines(content_of(points));
  std::string line;
  std::getline(lines, line);  // the machine
  while (std::getline(lines, line)) {
    const json point = json::parse(line);
    const std::string why = point.value("void", "");
    // Of idle kernels: no time is like the one before, and nothing lasts beside anything.
    const bool fails = !why.empty() && !why.starts_with("repetitions took") && !why.ends_with("ended first");
    ++(fails ? refused : timed)[point["shape"]["kind"].get<std::string>() + (fails ? ": " + why : "")];
  }
  EXPECT_THAT(refused, testing::IsEmpty());
  for (const char* kind : {"matmul", "attention", "memory", "host_copy", "launch", "beside"}) {
    EXPECT_GT(timed[kind], 0) << kind;
  }
  const Answer fitted = forerun("calibrate --resume " + points + " --minutes 0");
  ASSERT_EQ(fitted.exit_code, 0) << fitted.err;
  const std::string file = folder / "dgx-h100-2026-01-02.yaml";
  EXPECT_THAT(content_of(file), HasSubstr("# Timed by forerun on NVIDIA H100 80GB HBM3, 2026-01-02, driver emulated"));
  EXPECT_NE(forerun("predict llama3-8b-32xh200 --set cluster.node=dgx-h100 --quiet --calibration " + file).exit_code,
            2);
}

}  // namespace
