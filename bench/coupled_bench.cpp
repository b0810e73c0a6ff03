// bench/coupled_bench.cpp -- warm predictions whose step runs beside flows in SimGrid (fidelity coupled), folding
// included. Target: 1 s for the default Job. SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <string>

#include "core/config/catalogue.h"
#include "core/config/job_reader.h"
#include "core/plan/build.h"
#include "sim/network/cargo.h"
#include "sim/network/simgrid.h"
#include "sim/predict.h"
#include "sim/pricing/prices.h"

namespace {

spec::Job coupled(const std::string& name) {
  const config::Catalogue catalogue(FORERUN_SOURCE_DIR);
  config::Value tree = config::load(catalogue.path(config::Catalogue::Kind::job, name));
  config::set_path(tree, "network.fidelity", "coupled", "--set");
  return config::read_job(tree, catalogue);
}

void predicts(benchmark::State& state, const std::string& name) {
  if (!sim::has_simgrid()) return state.SkipWithError("built without SimGrid");
  const spec::Job job = coupled(name);
  for (auto _ : state) {
    benchmark::DoNotOptimize(sim::predict(job, sim::Detail::chains).prediction.step_time_s);
  }
}

/// Prices, sets of flows and their folding; `flows`: that are left of all ranks'.
void folds(benchmark::State& state, const std::string& name) {
  if (!sim::has_simgrid()) return state.SkipWithError("built without SimGrid");
  const spec::Job job = coupled(name);
  const plan::Plan plan = plan::build(job);
  for (auto _ : state) {
    const sim::EngineInput in = sim::priced(plan, job);
    const auto* carrier = dynamic_cast<const sim::SimGridCarrier*>(in.carrier.get());
    state.counters["flows"] = carrier == nullptr ? 0 : static_cast<double>(carrier->cargo().fluid.flows());
  }
}

#define JOBS(bench)                                                                                                \
  BENCHMARK_CAPTURE(bench, llama3_70b_64, std::string("llama3-70b-64xh100"))->Unit(benchmark::kMillisecond);       \
  BENCHMARK_CAPTURE(bench, deepseek_v3_2048, std::string("deepseek-v3-2048xh800"))->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(bench, llama3_405b_16384, std::string("llama3.1-405b-16384xh100"))->Unit(benchmark::kMillisecond)
JOBS(predicts);
JOBS(folds);

}  // namespace
