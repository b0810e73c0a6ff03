// core/spec/simulation_rules.cpp -- slow ranks must exist (declared in rules.h).
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <set>

#include "core/spec/rules.h"

namespace spec {
namespace {

class Simulated : Rules {
 public:
  using Rules::Rules;
  std::vector<base::Fault> run() {
    simulation();
    return std::move(faults_);
  }

 private:
  void simulation() {
    const Simulation& sim = job_.simulation;
    if (!(sim.jitter >= 0 && sim.jitter <= 1))
      fault("simulation.jitter", "is out of range", "write a number from 0 to 1");
    std::set<std::int64_t> slowed;
    for (const SlowRank& slow : sim.slow_ranks) {
      if (!slowed.insert(slow.rank).second) {
        fault("simulation.slow_ranks", "rank " + text(slow.rank) + " is there twice", "write one factor for it");
      }
      if (slow.rank < 0 || slow.rank >= cluster_.gpus()) {
        fault("simulation.slow_ranks", "rank " + text(slow.rank) + " does not exist",
              "ranks go from 0 to " + text(cluster_.gpus() - 1));
      }
    }
  }
};

}  // namespace

std::vector<base::Fault> simulation_faults(const Job& job) { return Simulated(job).run(); }

}  // namespace spec
