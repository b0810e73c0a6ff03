// bench/two_level_bench.cpp -- a search's two levels against the operator level: strategies drawn at random from the
// default space of a Job, those that two levels tell. Counters: errors in per cent, how many are within half of one,
// bounds that are above the two levels' time (none may be), and processor time of both levels. docs/search.md has the
// figures. SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "core/base/heap.h"
#include "core/config/catalogue.h"
#include "core/config/search_reader.h"
#include "sim/predict.h"
#include "sim/search/strategies.h"
#include "sim/search/two_level.h"

namespace {

const bool kHeapIsKept = (base::keep_freed_memory(), true);  // as the command line does

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Agreement {
  std::vector<double> errors;  // per cent, least first
  int bounds_above = 0;
  double two_level_s = 0, operator_level_s = 0;

  void add(const spec::Job& job, sim::Books& books, sim::PriceList& prices) {
    const double begin = processor_seconds();
    sim::Draft draft(job, books, prices);
    if (!draft.agrees()) return;
    const double time = draft.step_time();
    bounds_above += draft.least_time() > time * (1 + 1e-9);
    const double drafted = processor_seconds();
    errors.push_back(std::abs(time / sim::predict(job, sim::Detail::chains).prediction.step_time_s - 1) * 100);
    two_level_s += drafted - begin;
    operator_level_s += processor_seconds() - drafted;
  }
  double at(double share) const {
    return errors[static_cast<std::size_t>(share * static_cast<double>(errors.size() - 1))];
  }
};

std::vector<spec::SearchPoint> shuffled(const config::OpenJob& open, sim::JobMaker& jobs) {
  std::vector<spec::SearchPoint> out;
  sim::each_layer_choice(open.job, open.space, [&](const spec::SearchPoint& layers) {
    jobs.each_with(layers, [&](const spec::SearchPoint& point, const spec::Job& job) {
      if (sim::has_two_levels(job)) out.push_back(point);
    });
  });
  std::shuffle(out.begin(), out.end(), std::mt19937(7));
  return out;
}

void agree(benchmark::State& state, const std::string& name, std::size_t count) {
  const config::Catalogue catalogue(FORERUN_SOURCE_DIR);
  config::OpenJob open =
      config::read_open_job(config::load(catalogue.path(config::Catalogue::Kind::job, name)), catalogue);
  open.space = {};
  sim::JobMaker jobs(open.job, open.space);
  sim::Books books;
  sim::PriceList prices(open.job.cluster, open.job.network);
  Agreement found;
  for (auto _ : state) {
    for (const spec::SearchPoint& point : shuffled(open, jobs)) {
      if (found.errors.size() < count) found.add(jobs.job_of(point), books, prices);
    }
  }
  std::sort(found.errors.begin(), found.errors.end());
  const auto close = std::count_if(found.errors.begin(), found.errors.end(), [](double error) { return error <= 0.5; });
  state.counters["strategies"] = static_cast<double>(found.errors.size());
  state.counters["within_half"] = static_cast<double>(close);
  state.counters["median"] = found.at(0.5);
  state.counters["of_nine_tenths"] = found.at(0.9);
  state.counters["of_99_in_100"] = found.at(0.99);
  state.counters["most"] = found.errors.back();
  state.counters["bounds_above"] = found.bounds_above;
  state.counters["two_level_s"] = found.two_level_s;
  state.counters["operator_level_s"] = found.operator_level_s;
}

void AgreementOf1000(benchmark::State& state) { agree(state, "llama3-70b-64xh100", 1000); }
BENCHMARK(AgreementOf1000)->Unit(benchmark::kSecond)->Iterations(1);

void AgreementOn16384(benchmark::State& state) { agree(state, "llama3.1-405b-16384xh100", 300); }
BENCHMARK(AgreementOn16384)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
