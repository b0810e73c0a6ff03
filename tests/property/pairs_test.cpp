// tests/property/pairs_test.cpp -- every option beside every other: each pair is refused in words that help, or
// predicted with figures that can be. From YAML text through the reader, check(), resolve() and the simulator, as the
// user's jobs go. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>

#include "core/base/parallel.h"
#include "sim/network/simgrid.h"
#include "sim/predict.h"
#include "tests/property/bench_catalogue.h"
#include "tests/property/options.h"
#include "tests/property/sound.h"

namespace {

using options::Option;

struct Case {
  int model = 0, node = 0;
  std::vector<const Option*> chosen;
};

std::string text(const Case& one) {
  std::string out = std::string(bench_catalogue::kModels[one.model]) + " on " + bench_catalogue::kNodes[one.node];
  for (const Option* option : one.chosen) out += options::text(*option);
  return out;
}

enum class End { refused, predicted };

/// Ranks that do the same work share a role; running each of them must come to the same. (On a fabric of flows the
/// ranks of a role need not be alike, and each then runs at its own pace; on a mixed cluster a role takes each
/// operator's time on the slowest kind, which is an upper bound where none is slower in all: flatten.h.)
std::string compare_unfolded(spec::Job job, const result::Prediction& folded) {
  if (job.network.fidelity == spec::Fidelity::coupled) return "";
  const spec::Simulation& s = job.simulation;
  if (s.unfold || s.jitter > 0 || !s.slow_ranks.empty()) return "";
  job.simulation.unfold = true;
  const result::Prediction answer = sim::predict(job).prediction;
  if (s.any() || job.cluster.mixed()) {
    return answer.step_time_s > folded.step_time_s * 1.0001 ? "folded it is no upper bound" : "";
  }
  if (answer.step_time_s != folded.step_time_s) return "unfolded it takes another time";
  return answer.peak_bytes != folded.peak_bytes ? "unfolded it takes other memory" : "";
}

/// What is wrong with the answer; empty when nothing is.
std::string try_case(const Case& one, const bench_catalogue::Bench& bench, const config::Value& base, bool unfold,
                     End& end) {
  try {
    config::Value tree = base;
    for (const Option* option : one.chosen) {
      for (const auto& [path, value] : option->settings) config::set_path(tree, path, value, "--set " + path);
    }
    end = End::refused;
    const spec::Job job = config::read_job(tree, bench.catalogue);
    for (const base::Fault& fault : spec::check(job)) return "resolving made a fault: " + base::to_string(fault);
    const result::Prediction answer = sim::predict(job).prediction;
    end = End::predicted;
    const std::string wrong = sound::complaints(job, answer);
    return wrong.empty() && unfold ? compare_unfolded(job, answer) : wrong;
  } catch (const base::InputError& error) {
    return sound::complaints(error);
  } catch (const std::exception& error) {
    return std::string("throws ") + error.what();
  }
}

class Pairs : public ::testing::Test {
 protected:
  Pairs() {
    for (const char* model : bench_catalogue::kModels) {
      for (const char* node : bench_catalogue::kNodes)
        bases_.push_back(config::parse(bench_catalogue::job(model, node), "job.yaml"));
    }
  }

  /// Returns how often each option was part of a prediction.
  std::map<const Option*, int> run(const std::vector<Case>& cases, bool unfold) {
    std::atomic<int> predicted = 0, wrong = 0;
    std::map<const Option*, int> used;
    std::mutex telling;
    base::parallel_for(cases.size(), [&](std::size_t i) {
      const Case& one = cases[i];
      End end = End::refused;
      const std::string told =
          try_case(one, bench_, bases_[one.model * bench_catalogue::kNodes.size() + one.node], unfold, end);
      predicted += end == End::predicted;
      const std::scoped_lock lock(telling);
      for (const Option* option : one.chosen) used[option] += end == End::predicted;
      if (told.empty()) return;
      if (++wrong <= most_told_) ADD_FAILURE() << text(one) << "\n  " << told;
    });
    EXPECT_EQ(wrong, 0) << "of " << cases.size() << " cases";
    // A list whose options exclude one another would test nothing.
    EXPECT_GT(predicted, static_cast<int>(cases.size()) / 4) << "of " << cases.size() << " cases were predicted";
    RecordProperty("predicted", predicted);
    RecordProperty("cases", static_cast<int>(cases.size()));
    return used;
  }

  static int models() { return static_cast<int>(bench_catalogue::kModels.size()); }
  static int nodes() { return static_cast<int>(bench_catalogue::kNodes.size()); }

  const std::vector<Option> options_ = options::all();

 private:
  int most_told_ = std::getenv("FORERUN_PAIRS_TELL") ? std::atoi(std::getenv("FORERUN_PAIRS_TELL")) : 20;
  bench_catalogue::Bench bench_;
  std::vector<config::Value> bases_;
};

TEST_F(Pairs, OfOptionsAreRefusedInWordsThatHelpOrPredictedInFiguresThatCanBe) {
  // Models and nodes take turns; FORERUN_PAIRS_ALL=1 tries every pair on each of them, which takes minutes.
  const bool every = std::getenv("FORERUN_PAIRS_ALL") != nullptr;
  std::vector<Case> cases;
  int turn = 0;
  for (std::size_t a = 0; a < options_.size(); ++a) {
    for (std::size_t b = a; b < options_.size(); ++b) {
      if (a != b && options_[a].key == options_[b].key) continue;
      for (int base = 0; base < (every ? models() * nodes() : 1); ++base, ++turn)
        cases.push_back({turn % models(), turn / models() % nodes(), {&options_[a], &options_[b]}});
    }
  }
  // An option that is refused beside every other is not tested: it lacks something that it should bring along.
  for (const auto& [option, times] : run(cases, false)) {
    const bool flows =
        std::ranges::any_of(option->settings, [](const auto& s) { return s.first == "network.fidelity"; });
    if (flows && !sim::has_simgrid()) continue;
    EXPECT_GT(times, 0) << options::text(*option);
  }
}

TEST_F(Pairs, AreNotEnoughSoRandomHandfulsToo) {
  const char* given = std::getenv("FORERUN_PAIRS_RANDOM");
  std::mt19937 random(2024);
  std::vector<Case> cases(given ? std::atoi(given) : 3000);
  for (Case& one : cases) {
    one.model = static_cast<int>(random() % static_cast<unsigned>(models()));
    one.node = static_cast<int>(random() % static_cast<unsigned>(nodes()));
    const std::size_t count = 2 + random() % 4;
    while (one.chosen.size() < count) one.chosen.push_back(&options_[random() % options_.size()]);
  }
  run(cases, true);
}

}  // namespace
