// bench/engine_bench.cpp -- operators a second of the native engine on one core, on the plan of a 70-billion-parameter
// transformer cut tp 4, pp 4 with 5 chunks a stage, 32 microbatches: the plan of the default Job, on toy GPUs so that
// the figure does not move when a calibration does. SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <vector>

#include "core/plan/build.h"
#include "sim/engine/engine.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"
#include "tests/support/toy.h"

namespace {

constexpr double kTargetRate = 10e6;  // operators a second

/// Llama 3 70B by shape.
spec::Job seventy_billion(bool unfold, double jitter) {
  return toy::job({.tp = 4, .sp = true, .pp = 4, .vpp = 5, .dp = 4, .zero = 1, .microbatches = 32}, [&](spec::Job& j) {
    j.model.layers = 80;
    j.model.hidden = 8192;
    j.model.heads = 64;
    j.model.kv_heads = 8;
    j.model.head_dim = 128;
    j.model.ffn = 28672;
    j.model.gated_mlp = true;
    j.model.activation = spec::Activation::swiglu;
    j.model.vocab = 128256;
    j.model.norm = spec::Norm::rmsnorm;
    j.model.position = spec::Position::rope;
    j.model.bias = false;
    j.training.sequence = 8192;
    j.cluster.node.calibration.compute_slowdown = 1.08;
    j.cluster.node.calibration.comm_slowdown = 1.05;
    j.framework.launch = base::us(5);
    j.framework.backward_launch = base::us(4);
    j.framework.collective_launch = base::us(15);
    j.framework.gradient_bucket = base::Bytes(160e6);
    j.framework.parameter_bucket = base::Bytes(160e6);
    j.framework.overlap.grad_reduce = j.framework.overlap.param_gather = j.framework.overlap.p2p = true;
    j.simulation.unfold = unfold;
    j.simulation.jitter = jitter;
  });
}

void run_engine(benchmark::State& state, const spec::Job& job) {
  const plan::Plan plan = plan::build(job);
  const std::vector<base::Seconds> prices = sim::prices_of(plan, job.cluster);
  const sim::EngineInput input = sim::flatten(plan, prices, job);
  std::int64_t operators = 0;
  for (auto _ : state) {
    sim::EngineOutput output = sim::run(input);
    if (output.deadlocked) state.SkipWithError("the plan deadlocks");
    operators += output.completed;
    benchmark::DoNotOptimize(output.end);
  }
  const auto count = static_cast<double>(operators);
  state.counters["operators"] = count / static_cast<double>(state.iterations());
  state.counters["operators_per_s"] = benchmark::Counter(count, benchmark::Counter::kIsRate);
  state.counters["of_target"] = benchmark::Counter(count / kTargetRate, benchmark::Counter::kIsRate);
}

void EngineFolded(benchmark::State& state) { run_engine(state, seventy_billion(false, 0)); }
BENCHMARK(EngineFolded)->Unit(benchmark::kMillisecond);

void EngineFoldedWithJitter(benchmark::State& state) { run_engine(state, seventy_billion(false, 0.05)); }
BENCHMARK(EngineFoldedWithJitter)->Unit(benchmark::kMillisecond);

/// 64 ranks: instances take turns, so their state leaves the first cache.
void EngineUnfolded(benchmark::State& state) { run_engine(state, seventy_billion(true, 0)); }
BENCHMARK(EngineUnfolded)->Unit(benchmark::kMillisecond);

}  // namespace
