// tests/cli/measure_test.cpp -- forerun measure where it cannot run: every build says so in a sentence, with exit
// code 3; and on the CPU, where it always can. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/config/catalogue.h"
#include "core/config/job_reader.h"
#include "core/plan/build.h"
#include "core/plan/facts.h"
#include "real/measure/measurement.h"
#include "real/trace/trace_file.h"
#include "sim/predict.h"
#include "tests/cli/run_forerun.h"

namespace {

using testing_support::Answer;
using testing_support::contains;
using testing_support::content_of;
using testing_support::forerun;

/// Runs forerun with this as its worker.
Answer with_worker(const std::string& worker, const std::string& arguments) {
  setenv("FORERUN_WORKER", worker.c_str(), 1);
  const Answer out = forerun(arguments);
  unsetenv("FORERUN_WORKER");
  return out;
}

TEST(Measure, SaysThatItNeedsAGpuOrFindsOne) {
  const Answer run = forerun("measure");
  if (run.exit_code == 0) {
    EXPECT_TRUE(contains(run.out, "GPU: ")) << run.out;
    return;
  }
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_TRUE(contains(run.err, "GPU")) << run.err;
  EXPECT_EQ(run.out, "");
}

TEST(Measure, ABuildWithoutTheWorkerSaysHowToGetIt) {
  const Answer run = with_worker("/no/such/worker", "measure");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.err,
            "error: this build has no GPU part: there is no /no/such/worker\n"
            "  mend: install the CUDA Toolkit, NCCL, CUPTI and cuDNN and build again; -D FORERUN_CUDA=ON says what is "
            "missing\n");
}

TEST(Measure, ARankThatFailsIsNamedWithItsExitStatus) {
  const Answer run = with_worker("/bin/false", "measure --gpus 2");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_TRUE(contains(run.err, "ended with exit status 1")) << run.err;
}

/// A worker that ends at once with this status.
Answer with_status(int status) {
  const testing_support::ScratchFolder folder;
  const std::string script = folder / "worker";
  std::ofstream(script) << "#!/bin/sh\nexit " << status << "\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  return with_worker(script, "measure");
}

TEST(Measure, TheWorkersEndDecidesTheExitCode) {
  EXPECT_EQ(with_status(0).exit_code, 0);
  EXPECT_EQ(with_status(2).exit_code, 2);   // the worker has told the fault
  EXPECT_EQ(with_status(77).exit_code, 3);  // no GPU, and the worker has told why
  const Answer not_loaded = with_status(127);
  EXPECT_EQ(not_loaded.exit_code, 3);
  EXPECT_TRUE(contains(not_loaded.err, "error: the GPU part cannot start: a library of NVIDIA's")) << not_loaded.err;
}

TEST(Measure, OneProcessAsksForGpusBeforeAllRanksAreStarted) {
  const testing_support::ScratchFolder folder;
  const std::string script = folder / "worker", started = folder / "started";
  std::ofstream(script) << "#!/bin/sh\necho $* >>'" << started << "'\n[ $1 = --room ] && exit 77\nexit 0\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  EXPECT_EQ(with_worker(script, "measure llama3-70b-64xh100").exit_code, 3);
  std::ifstream in(started);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "--room 64\n");
}

TEST(Measure, AJobForMoreCardsThanAMachineHasEndsAtOnce) {
  const Answer run = forerun("measure bloom-176b-384xa100");  // no machine has 48 cards
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_TRUE(contains(run.err, "GPU")) << run.err;
  EXPECT_EQ(run.out, "");
}

TEST(Measure, ANumberOfGpusIsOne) {
  for (const char* text : {"0", "-1", "two", "1e9"}) {
    const Answer run = forerun(std::string("measure --gpus ") + text);
    EXPECT_EQ(run.exit_code, 2) << text;
    EXPECT_TRUE(contains(run.err, "--gpus: '" + std::string(text) + "' is no number of GPUs")) << run.err;
  }
}

/// A Llama of 9 thousand parameters on 4 ranks.
std::string tiny_job(const testing_support::ScratchFolder& folder) {
  const std::string path = folder / "tiny.yaml";
  std::ofstream(path)
      << "model: {name: tiny, layers: 2, hidden: 16, heads: 4, kv_heads: 2, head_dim: 4, ffn: 24, gated_mlp: true,\n"
         "        activation: swiglu, vocab: 32, norm: rmsnorm, position: rope}\n"
         "cluster: {node: {base: dgx-h100, gpus: 4}, nodes: 1}\n"
         "training: {sequence: 8, global_batch: 8, micro_batch: 1, precision: bf16, optimizer: adamw}\n"
         "strategy: {tp: 2, sp: true, pp: 2, framework: {base: megatron, vocab_multiple: 1}}\n";
  return path;
}

// The file's dp of 4 goes with its 4 GPUs; the workers read the file, too, and are told what forerun has made of it.
TEST(Measure, RanksAreToldOfADpThatHasGivenWay) {
  const testing_support::ScratchFolder folder;
  const std::string script = folder / "worker", started = folder / "started", job = folder / "job.yaml";
  std::ofstream(script) << "#!/bin/sh\necho $* >>'" << started << "'\nexit 0\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  std::ofstream(job) << "model: llama3-8b\ncluster: {node: {base: dgx-h100, gpus: 4}, nodes: 1}\n"
                        "training: {sequence: 128, global_batch: 4}\nstrategy: {dp: 4}\n";
  EXPECT_EQ(with_worker(script, "measure " + job + " --set cluster.node.gpus=1").exit_code, 0);
  EXPECT_TRUE(contains(content_of(started), "--set cluster.node.gpus=1 --set strategy.dp=1\n")) << content_of(started);
}

TEST(MeasureOnCpu, LosesALittleLossEachStep) {
  const testing_support::ScratchFolder folder;
  const Answer run = forerun("measure " + tiny_job(folder) + " --backend cpu --steps 30 --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["backend"], "cpu");
  EXPECT_EQ(json["ranks"], 4);
  ASSERT_EQ(json["steps"].size(), 30u);
  EXPECT_LT(json["steps"][29]["loss"], json["steps"][0]["loss"]);
  EXPECT_GT(json["steps"][0]["gradient_norm"], 0);
}

TEST(MeasureOnCpu, SaysThatItMeasuresNoGpu) {
  const testing_support::ScratchFolder folder;
  const Answer run = forerun("measure " + tiny_job(folder) + " --backend cpu --steps 1");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "times are no measurement of a GPU")) << run.out;
}

TEST(MeasureOnCpu, ThePageHoldsLossesTimelineOperatorsAndMemory) {
  const testing_support::ScratchFolder folder;
  const std::string page = folder / "step.html";
  const Answer run = forerun("measure " + tiny_job(folder) + " --backend cpu --steps 3 --html " + page);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "gradient norm")) << run.out;  // the text as ever
  const std::string told = content_of(page);
  for (const char* id : {"timeline", "difference", "losses", "memory", "notes"}) {
    EXPECT_TRUE(contains(told, std::string("<section id=\"") + id + "\"")) << id;
  }
  EXPECT_TRUE(contains(told, R"("traces":["predicted","measured"])"));
  EXPECT_TRUE(contains(told, "which measures no GPU"));
  EXPECT_FALSE(contains(told, "Times as long"));
}

TEST(MeasureOnCpu, EveryOperatorOfThePlanIsMeasured) {
  const testing_support::ScratchFolder folder;
  const std::string page = forerun("measure " + tiny_job(folder) + " --backend cpu --steps 1 --html -").out;
  const std::size_t end = page.find(" predicted operators of rank");
  ASSERT_NE(end, page.npos);
  const std::string counts = page.substr(page.rfind("<p>", end) + 3, end - page.rfind("<p>", end) - 3);  // "96 of 96"
  EXPECT_EQ(counts.substr(0, counts.find(' ')), counts.substr(counts.rfind(' ') + 1)) << counts;
}

TEST(MeasureOnCpu, RefusesByName) {
  const testing_support::ScratchFolder folder;
  const std::string job = "measure " + tiny_job(folder) + " --backend cpu";
  const auto refused = [&](const std::string& arguments, const std::string& text) {
    const Answer run = forerun(job + ' ' + arguments);
    EXPECT_EQ(run.exit_code, 2) << arguments;
    EXPECT_TRUE(contains(run.err, text)) << run.err;
  };
  refused(
      "--set training.moments_dtype=fp16",
      "error: training.moments_dtype: moments in fp16 is not computed by real mode yet\n  mend: write moments_dtype: "
      "bf16");
  refused("--set model=llama3-70b", "are too many for a CPU in double");
  refused("--steps none", "'none' is no number of steps");
  refused("--tokens /no/such/file", "cannot read /no/such/file");
  refused("--gpus 2", "--gpus: the CPU has none");
  std::ofstream(folder / "tokens", std::ios::binary) << std::string("\x01\x00\x21\x00", 4);  // 33 of 32
  refused("--tokens " + (folder / "tokens"), "token 2 of " + (folder / "tokens") + " is 33, beyond a vocabulary of 32");
}

TEST(MeasureOnCpu, LearnsFromAFile) {
  const testing_support::ScratchFolder folder;
  std::string text;  // 0 1 2 ... 31, over and over
  for (int i = 0; i < 512; ++i) text += std::string{static_cast<char>(i % 32), '\0'};
  std::ofstream(folder / "tokens", std::ios::binary) << text;
  const Answer run =
      forerun("measure " + tiny_job(folder) + " --backend cpu --steps 40 --json - --tokens " + (folder / "tokens"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_LT(json["steps"][39]["loss"], 0.9 * json["steps"][0]["loss"].get<double>());
}

/// A Job that real mode can run, on 2 GPUs.
std::string llama_job(const testing_support::ScratchFolder& folder) {
  const std::string path = folder / "job.yaml";
  std::ofstream(path) << "model: {base: llama3-8b, layers: 2}\n"
                         "cluster: {node: {base: dgx-h100, gpus: 2}, nodes: 1}\n"
                         "training: {sequence: 1024, global_batch: 2, micro_batch: 1}\n"
                         "strategy: {tp: 2}\n";
  return path;
}

TEST(Measure, WhatIsNotComputedIsRefusedByNameBeforeAWorkerIsLookedFor) {
  const testing_support::ScratchFolder folder;
  const Answer run =
      with_worker("/no/such/worker", "measure " + llama_job(folder) + " --set training.moments_dtype=fp16");
  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_TRUE(contains(run.err, "training.moments_dtype: moments in fp16 is not computed by real mode yet")) << run.err;
}

TEST(Measure, GpusThatDoNotFitTheJobAreRefused) {
  const testing_support::ScratchFolder folder;
  const Answer run = with_worker("/no/such/worker", "measure " + llama_job(folder) + " --gpus 4");
  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_TRUE(contains(run.err, "--gpus: the job is cut for 2 GPUs, and 4 ranks are started")) << run.err;
}

TEST(Measure, ASoundJobWantsItsWorker) {
  const testing_support::ScratchFolder folder;
  const Answer run = with_worker("/no/such/worker", "measure " + llama_job(folder));
  EXPECT_EQ(run.exit_code, 3) << run.err;
}

TEST(Measure, TheWorkersGetTheJobAndItsOptions) {
  const testing_support::ScratchFolder folder;
  const std::string script = folder / "worker", job = llama_job(folder);
  std::ofstream(script) << "#!/bin/sh\n[ $1 = --room ] && exit 0\n[ $RANK = 0 ] && echo $WORLD_SIZE $*\nexit 0\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Answer run =
      with_worker(script, "measure " + job + " --steps 5 --warmup 2 --json out.json --set strategy.sp=true");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out,
            "2 run " + job + " --set strategy.sp=true --set strategy.dp=1 --steps 5 --warmup 2 --json out.json\n");
}

/// A worker that leaves what was measured on 2 GPUs: a step of 80 ms, and a trace in which everything takes twice as
/// long as predicted.
std::string worker_of_gpus(const testing_support::ScratchFolder& folder, const std::string& job) {
  real::Measurement m;
  m.job = "two layers on 2 GPUs";
  m.gpus = 2;
  m.steps = {base::ms(80), base::ms(80)};
  m.time = real::spread_of(m.steps);
  m.tokens = 2048;
  m.losses = {11.5, 11.25};
  m.gradient_norms = {2.5, 2.25};
  m.memory.measured[0] = 3'000'000'000;
  m.memory.planned[0] = 2'000'000'000;
  m.conditions = {{"toy GPU", base::Hertz(1.5e9), base::Hertz(2e9), base::Watts(300), 40, {"power limit"}}};
  std::ofstream(folder / "result") << real::json(m);
  const spec::Job read = config::read_job(config::load(job), config::Catalogue::find());
  trace::Trace trace = sim::predict(read).trace;
  trace.length *= 2;
  for (trace::Track& track : trace.tracks) {
    for (trace::Span& span : track.spans) {
      for (trace::Ticks* time : {&span.ready, &span.start, &span.end}) *time *= 2;
    }
  }
  std::ofstream(folder / "trace") << real::write_recorded(
      {"gpu", plan::facts_of(read), {}, trace, plan::work_kinds_of(plan::build(read))});
  const std::string script = folder / "worker";
  std::ofstream(script) << "#!/bin/sh\n[ $RANK = 0 ] || exit 0\nwhile [ $# -gt 0 ]; do\n"
                           "  case $1 in\n    --json) cp '"
                        << folder / "result"
                        << "' \"$2\";;\n"
                           "    --trace) cp '"
                        << folder / "trace"
                        << "' \"$2\";;\n  esac\n  shift\ndone\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  return script;
}

TEST(Measure, ThePageIsMadeOfWhatTheWorkersLeave) {
  const testing_support::ScratchFolder folder;
  const std::string job = llama_job(folder), page = folder / "step.html";
  const Answer run = with_worker(worker_of_gpus(folder, job), "measure " + job + " --html " + page);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string told = content_of(page);
  EXPECT_TRUE(contains(told, "One training step takes 80.0 ms on 2 GPUs")) << told.substr(0, 2000);
  EXPECT_TRUE(contains(told, "the loss goes from 11.5000 to 11.2500 in 2 steps"));
  EXPECT_TRUE(contains(told, "takes 2.00 x as long as predicted"));
  EXPECT_TRUE(contains(told, "power limit"));
  EXPECT_TRUE(contains(told, ">+50.0 %</td>"));  // 3 GB of 2
}

TEST(Measure, TheResultIsWrittenBesideThePage) {
  const testing_support::ScratchFolder folder;
  const std::string job = llama_job(folder), json = folder / "r.json", worker = worker_of_gpus(folder, job);
  const Answer run = with_worker(worker, "measure " + job + " --json " + json + " --html " + (folder / "step.html"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(content_of(json), content_of(folder / "result"));
  EXPECT_TRUE(content_of(folder / "step.html").starts_with("<!doctype html>"));
  EXPECT_EQ(with_worker(worker, "measure " + job + " --html -").exit_code, 2);
}

TEST(Measure, OptionsOfAJobWithoutOneAreRefused) {
  const Answer run = forerun("measure --steps 5");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "--steps: belongs to a JOB")) << run.err;
}

}  // namespace
