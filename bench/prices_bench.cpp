// bench/prices_bench.cpp -- how many prices a second one core gives, by family.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "tests/sim/cost/toy_device.h"

namespace {

sim::Device calibrated() {
  sim::Device d = toy_device();
  d.calibration.matmul.fill({.ceiling = 0.8,
                             .tile_m = 128,
                             .tile_n = 256,
                             .half_tile = 0.9,
                             .quarter_tile = 0.7,
                             .k_half = 100,
                             .wave_share = 0.3,
                             .memory = 0.8,
                             .overhead = base::us(3),
                             .from = {}});
  return d;
}

template <class Work>
void prices(benchmark::State& state, Work work) {
  const sim::Device device = calibrated();
  for (auto _ : state) {
    benchmark::DoNotOptimize(work);
    benchmark::DoNotOptimize(sim::price(work, device));
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(prices, matmul, plan::Matmul{.m = 8192, .n = 4096, .k = 4096});
BENCHMARK_CAPTURE(prices, attention,
                  plan::Attention{
                      .batch = 1, .q_len = 8192, .kv_len = 8192, .heads = 32, .kv_heads = 8, .head_dim = 128});
BENCHMARK_CAPTURE(prices, memory_bound, plan::MemoryBound{.read = 1 << 26, .written = 1 << 26});

}  // namespace
