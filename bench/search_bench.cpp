// bench/search_bench.cpp -- strategies a second of whole searches over their default spaces, as ratios to a peer's:
// Calculon searches 439 configurations of a simpler model a second at best. `evaluated` are those priced, proved worse
// by a bound or proved too large. SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <string>

#include "core/base/heap.h"
#include "core/config/catalogue.h"
#include "core/config/search_reader.h"
#include "sim/search/search.h"

namespace {

const bool kHeapIsKept = (base::keep_freed_memory(), true);  // as the command line does

constexpr double kPeer = 439, kTarget = 10'000;  // strategies a second

/// The catalogue's job with all keys open that a search may choose.
config::OpenJob open_job(const std::string& name) {
  const config::Catalogue catalogue(FORERUN_SOURCE_DIR);
  config::OpenJob out =
      config::read_open_job(config::load(catalogue.path(config::Catalogue::Kind::job, name)), catalogue);
  out.space = {};
  return out;
}

void search(benchmark::State& state, const std::string& name) {
  const config::OpenJob open = open_job(name);
  sim::SearchOptions options;
  options.threads = 2;
  result::Search answer;
  for (auto _ : state) answer = sim::search(open.job, open.space, options);
  const double rate = static_cast<double>(answer.evaluated) / answer.elapsed_s;
  state.counters["evaluated"] = static_cast<double>(answer.evaluated);
  state.counters["priced"] = static_cast<double>(answer.priced);
  state.counters["seconds"] = answer.elapsed_s;
  state.counters["of_peer"] = rate / kPeer;
  state.counters["of_target"] = rate / kTarget;
}

void SearchDefaultJob(benchmark::State& state) { search(state, "llama3-70b-64xh100"); }
BENCHMARK(SearchDefaultJob)->Unit(benchmark::kSecond)->Iterations(1);

void Search16384(benchmark::State& state) { search(state, "llama3.1-405b-16384xh100"); }
BENCHMARK(Search16384)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
