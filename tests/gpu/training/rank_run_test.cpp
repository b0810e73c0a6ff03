// tests/gpu/training/rank_run_test.cpp -- a rank's whole run as forerun-worker makes it, of a job for one GPU.
// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/rank_run.h"

#include <atomic>

#include "tests/gpu/training/near.h"

namespace {

using gpus::dropout;
using gpus::fp8;
using gpus::job_of;
using gpus::lora;
using gpus::offload;
using gpus::packed;
using tiny::both;
using tiny::Change;

real::RankRun rank_run(const spec::Job& job, const real::Steps& steps) {
  const gpus::Turns turns(5, 1);
  std::vector<real::World> worlds = real::in_process(1);
  const real::CurrentDevice current(0);
  return real::run_rank(worlds.front(), job, plan::build(job), real::facts(0), tiny::tokens(job), steps);
}

void expect_timed_and_recorded(const spec::Model& model, const Change& change) {
  const spec::Job job = job_of(model, {"", {}, change});
  const real::RankRun run = rank_run(job, {.warmup = 1, .timed = 2, .recorded = true});
  EXPECT_EQ(run.times.size(), 2u);
  EXPECT_EQ(run.losses.size(), 3u);
  EXPECT_TRUE(std::isfinite(run.losses.back()));
  ASSERT_TRUE(run.trace);  // else it would have been void, and said so
  std::size_t spans = 0;
  for (const trace::Track& track : run.trace->trace.tracks) spans += track.spans.size();
  EXPECT_GT(spans, 100u);
  EXPECT_EQ(run.plain_attention.empty(), !model.moe);  // dropout goes by the place of a score
}

TEST(ARankRun, TimesItsStepsAndRecordsOneMore) {
  const auto on_host = both(offload({.optimizer = spec::Offload::To::cpu, .activations = true}),
                            [](spec::Job& j) { j.strategy.zero = 1; });
  expect_timed_and_recorded(tiny::llama(), [](spec::Job&) {});
  expect_timed_and_recorded(tiny::moe(), dropout);
  expect_timed_and_recorded(tiny::llama(), both(lora, packed({5, 2, 9})));
  expect_timed_and_recorded(tiny::llama(), on_host);
  if (gpus::capability() >= gpus::kFp8Since) {
    expect_timed_and_recorded(tiny::llama(), fp8(spec::Fp8Recipe::delayed));
  }
}

TEST(ARankRun, TimesTheGraphsOfACapturedStep) {
  const spec::Job job =
      job_of(tiny::llama(), {"", {}, [](spec::Job& j) { j.strategy.cuda_graphs = spec::CudaGraphs::whole; }});
  const real::RankRun run = rank_run(job, {.warmup = 2, .timed = 3, .recorded = true, .captured = true});
  EXPECT_EQ(run.times.size(), 3u);
  EXPECT_EQ(run.losses.size(), 3u);  // of the warm-up and of the step that was captured
  EXPECT_TRUE(run.trace);
}

// Kernels of two steps run between the first reading and the last.
TEST(ARankRun, ReadsItsCardWhileStepsAreTimed) {
  const gpus::Turns turns(5, 1);
  const spec::Job job = job_of(tiny::llama(), {"", {}});
  std::vector<real::World> worlds = real::in_process(1);
  const real::CurrentDevice current(0);
  std::atomic<int> readings = 0;
  const auto read = [&] {
    const bool first = ++readings == 1;
    return real::Condition{"card", base::Hertz(first ? 2e9 : 1e9), {}, base::Watts(300), 50, {}};
  };
  const real::RankRun run = real::run_rank(worlds.front(), job, plan::build(job), real::facts(0), tiny::tokens(job),
                                           {.warmup = 1, .timed = 2}, read);
  EXPECT_GE(readings, 1);
  EXPECT_EQ(run.condition.readings, readings);
  EXPECT_EQ(run.condition.gpu, "card");
  EXPECT_GE(run.beside.at_start, 0);
}

}  // namespace
