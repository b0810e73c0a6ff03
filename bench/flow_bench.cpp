// bench/flow_bench.cpp -- one collective priced by flows, folding and SimGrid included; the links' graph built or not.
// Targets: 5 ms on 1,024 GPUs, 100 ms on 16,384.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "core/plan/group_shape.h"
#include "sim/network/flow.h"
#include "sim/network/simgrid.h"
#include "tests/support/toy.h"

namespace {

spec::Cluster cluster(int gpus, spec::Fabric::Kind kind) {
  spec::Cluster c = toy::cluster(gpus);
  c.fabric.kind = kind;
  c.fabric.leaf_nodes = 32;
  c.fabric.oversubscription = 2;
  return c;
}

/// Data parallel beside tensor parallel of 8, in 8 stages; experts over 8 nodes.
void prices(benchmark::State& state, sim::Pattern pattern, spec::Fabric::Kind kind) {
  if (!sim::has_simgrid()) return state.SkipWithError("built without SimGrid");
  const spec::Cluster c = cluster(static_cast<int>(state.range(0)), kind);
  const bool experts = pattern == sim::Pattern::all_to_all;
  const plan::GroupShape group =
      experts ? plan::group_shape(1, 64, c, c.gpus()) : plan::group_shape(8, c.gpus() / 64, c, c.gpus());
  for (auto _ : state) {
    const sim::FlowPaths paths(c);  // new: it keeps what it worked out
    benchmark::DoNotOptimize(paths.between(group, group.per_domain, pattern));
  }
}

#define CLUSTERS ->Arg(1024)->Arg(16384)->Unit(benchmark::kMillisecond)
BENCHMARK_CAPTURE(prices, ring_rails, sim::Pattern::ring, spec::Fabric::Kind::rail_optimized) CLUSTERS;
BENCHMARK_CAPTURE(prices, ring_fat_tree, sim::Pattern::ring, spec::Fabric::Kind::fat_tree) CLUSTERS;
BENCHMARK_CAPTURE(prices, tree_fat_tree, sim::Pattern::tree, spec::Fabric::Kind::fat_tree) CLUSTERS;
BENCHMARK_CAPTURE(prices, all_to_all_fat_tree, sim::Pattern::all_to_all, spec::Fabric::Kind::fat_tree) CLUSTERS;

void builds_wires(benchmark::State& state) {
  const spec::Cluster c = cluster(static_cast<int>(state.range(0)), spec::Fabric::Kind::fat_tree);
  for (auto _ : state) benchmark::DoNotOptimize(sim::Wires(c).links());
}
BENCHMARK(builds_wires)->Arg(16384);

}  // namespace
