// bench/predict_bench.cpp -- warm predictions of catalogue Jobs, every operator of every microbatch: plan, price, run
// (kernels without a gap between them as one), account. Each reports its time over its target; peak_rss_MiB is of the
// whole process so far, so run one benchmark alone to read it. SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/base/heap.h"
#include "core/config/catalogue.h"
#include "core/config/job_reader.h"
#include "core/plan/build.h"
#include "sim/engine/engine.h"
#include "sim/network/simgrid.h"
#include "sim/predict.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"

namespace {

const bool kHeapIsKept = (base::keep_freed_memory(), true);  // as the command line does

using Settings = std::vector<std::pair<std::string, std::string>>;

spec::Job catalogue_job(const std::string& name, const Settings& settings = {}) {
  const config::Catalogue catalogue(FORERUN_SOURCE_DIR);
  config::Value tree = config::load(catalogue.path(config::Catalogue::Kind::job, name));
  for (const auto& [path, value] : settings) config::set_path(tree, path, value, "--set");
  return config::read_job(tree, catalogue);
}

double peak_rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;  // Linux counts kibibytes
}

void predict(benchmark::State& state, const spec::Job& job, double target_ms,
             sim::Detail detail = sim::Detail::chains) {
  if (state.max_iterations > 1) sim::predict(job, detail);  // warm, unless it takes seconds
  double seconds = 0;
  std::int64_t operators = 0;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    const sim::Outcome outcome = sim::predict(job, detail);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    operators = outcome.prediction.operators;
    benchmark::DoNotOptimize(outcome.prediction.step_time_s);
  }
  const double ms = seconds * 1e3 / static_cast<double>(state.iterations());
  state.counters["ms"] = ms;
  state.counters["target_ms"] = target_ms;
  state.counters["of_target"] = ms / target_ms;
  state.counters["operators"] = static_cast<double>(operators);
  state.counters["peak_rss_MiB"] = peak_rss_mib();
}

/// Llama 3 70B on 64 H100, the Job to begin with.
void PredictDefaultJob(benchmark::State& state) { predict(state, catalogue_job("llama3-70b-64xh100"), 10); }
BENCHMARK(PredictDefaultJob)->Unit(benchmark::kMillisecond);

/// The same with a span for every operator, as --trace needs it.
void TraceDefaultJob(benchmark::State& state) {
  predict(state, catalogue_job("llama3-70b-64xh100"), 10, sim::Detail::operators);
}
BENCHMARK(TraceDefaultJob)->Unit(benchmark::kMillisecond);

/// Llama 3.1 405B on 16,384 H100, one instance a stage.
void PredictFolded16384(benchmark::State& state) { predict(state, catalogue_job("llama3.1-405b-16384xh100"), 50); }
BENCHMARK(PredictFolded16384)->Unit(benchmark::kMillisecond);

/// The same cut over 100,096: tp 8, pp 16, dp 782, which divides neither leaves nor nodes evenly.
const Settings kHundredThousand{{"cluster.nodes", "12512"}, {"strategy.dp", "782"}, {"training.global_batch", "12512"}};

void PredictFolded100096(benchmark::State& state) {
  predict(state, catalogue_job("llama3.1-405b-16384xh100", kHundredThousand), 100);
}
BENCHMARK(PredictFolded100096)->Unit(benchmark::kMillisecond);

/// Each axis priced by the flows of all its groups on oversubscribed leaves.
void PredictFlows100096(benchmark::State& state) {
  if (!sim::has_simgrid()) return state.SkipWithError("built without SimGrid");
  Settings settings = kHundredThousand;
  settings.insert(settings.end(), {{"network.fidelity", "flow"}, {"cluster.fabric", "fat-tree-4to1"}});
  predict(state, catalogue_job("llama3.1-405b-16384xh100", settings), 100);
}
BENCHMARK(PredictFlows100096)->Unit(benchmark::kMillisecond);

/// DeepSeek-V3 on 2,048 H800: 16 stages, each two chunks of experts, fed from both ends.
void PredictExperts2048(benchmark::State& state) { predict(state, catalogue_job("deepseek-v3-2048xh800"), 20); }
BENCHMARK(PredictExperts2048)->Unit(benchmark::kMillisecond);

/// The default Job on 128 nodes with every one of 1,024 ranks run by itself.
void PredictUnfolded1024(benchmark::State& state) {
  predict(state,
          catalogue_job("llama3-70b-64xh100", {{"cluster.nodes", "128"},
                                               {"strategy.dp", "64"},
                                               {"training.global_batch", "2048"},
                                               {"simulation.unfold", "true"}}),
          5000);
}
BENCHMARK(PredictUnfolded1024)->Unit(benchmark::kMillisecond)->Iterations(1);

/// Llama 3.1 405B with every one of 16,384 ranks run by itself: 190 million operators. Its memory has a target as well.
void PredictUnfolded16384(benchmark::State& state) {
  constexpr double kTargetMib = 8 * 1024;
  predict(state, catalogue_job("llama3.1-405b-16384xh100", {{"simulation.unfold", "true"}}), 60'000);
  state.counters["memory_of_target"] = peak_rss_mib() / kTargetMib;
}
BENCHMARK(PredictUnfolded16384)->Unit(benchmark::kMillisecond)->Iterations(1);

// ---- where a prediction's time goes ----

void PlanDefaultJob(benchmark::State& state) {
  const spec::Job job = catalogue_job("llama3-70b-64xh100");
  for (auto _ : state) benchmark::DoNotOptimize(plan::build(job).works.size());
}
BENCHMARK(PlanDefaultJob)->Unit(benchmark::kMillisecond);

void PlanExperts2048(benchmark::State& state) {
  const spec::Job job = catalogue_job("deepseek-v3-2048xh800");
  for (auto _ : state) benchmark::DoNotOptimize(plan::build(job).works.size());
}
BENCHMARK(PlanExperts2048)->Unit(benchmark::kMillisecond);

void PriceDefaultJob(benchmark::State& state) {
  const spec::Job job = catalogue_job("llama3-70b-64xh100");
  const plan::Plan plan = plan::build(job);
  for (auto _ : state) benchmark::DoNotOptimize(sim::prices_of(plan, job.cluster).size());
}
BENCHMARK(PriceDefaultJob)->Unit(benchmark::kMillisecond);

void RunDefaultJob(benchmark::State& state) {
  const spec::Job job = catalogue_job("llama3-70b-64xh100");
  const plan::Plan plan = plan::build(job);
  const std::vector<base::Seconds> prices = sim::prices_of(plan, job.cluster);
  for (auto _ : state) {
    const sim::EngineInput input = sim::flatten(plan, prices, job);
    benchmark::DoNotOptimize(sim::to_trace(plan, input, sim::run(input)).length);
  }
}
BENCHMARK(RunDefaultJob)->Unit(benchmark::kMillisecond);

}  // namespace
