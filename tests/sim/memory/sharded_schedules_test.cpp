// tests/sim/memory/sharded_schedules_test.cpp -- what zero 0 to 3 hold under schedules that split the backward.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/plan/build.h"
#include "core/plan/context.h"
#include "core/plan/shares.h"
#include "sim/memory/ledger.h"
#include "tests/support/toy.h"

namespace {

using plan::Category;
using spec::Schedule;

spec::Job job(Schedule schedule, int zero) {
  return toy::job({.pp = 2, .dp = 4, .zero = zero, .microbatches = 8, .schedule = schedule}, [](spec::Job& j) {
    j.model.layers = 32;
    j.framework.gradient_bucket = base::MiB(1);
    j.strategy.overlap.grad_reduce = j.strategy.overlap.param_gather = true;
  });
}

std::vector<sim::MemoryPeak> peaks(Schedule schedule, int zero) {
  const plan::Plan p = plan::build(job(schedule, zero));
  std::vector<sim::MemoryPeak> out;
  for (const plan::Role& role : p.roles) out.push_back(sim::peak_of(p, role));
  return out;
}

TEST(ShardedSchedules, EachStepFromZeroNoughtToThreeHoldsLess) {
  for (const Schedule schedule : {Schedule::zb_h1, Schedule::zb_h2, Schedule::zb_v, Schedule::dualpipe}) {
    std::vector<sim::MemoryPeak> more = peaks(schedule, 0);
    for (int zero = 1; zero <= 3; ++zero) {
      const std::vector<sim::MemoryPeak> less = peaks(schedule, zero);
      for (std::size_t s = 0; s < less.size(); ++s) {
        EXPECT_LT(less[s].total(), more[s].total()) << static_cast<int>(schedule) << " zero " << zero << " stage " << s;
      }
      more = less;
    }
  }
}

TEST(ShardedSchedules, HoldTheStatesOf1F1B) {
  // Parameters, gradients and optimizer states through the step do not know the schedule: of P parameters of a stage
  // and 4 ranks 2 P / 4 + 4 P / 4 + 12 P / 4 bytes. In zb-v the first stage has the head as well, the last no end.
  for (const Schedule schedule : {Schedule::one_f_one_b, Schedule::zb_h1, Schedule::zb_h2, Schedule::zb_v}) {
    const spec::Job j = job(schedule, 3);
    const plan::Plan p = plan::build(j);
    const plan::Context c(j);
    const std::vector<std::vector<plan::Chunk>> stages = plan::chunks_of(c);
    for (const plan::Role& role : p.roles) {
      std::int64_t share = 0;
      for (const plan::Chunk& chunk : stages[role.stage]) share += plan::chunk_parameters(c, chunk).total();
      share /= 4;
      EXPECT_NEAR(static_cast<double>(role.resident[static_cast<int>(Category::parameters)]), 2.0 * share, 64);
      EXPECT_NEAR(static_cast<double>(role.resident[static_cast<int>(Category::gradients)]), 4.0 * share, 64);
      EXPECT_NEAR(static_cast<double>(role.resident[static_cast<int>(Category::optimizer)]), 12.0 * share, 64);
    }
  }
}

}  // namespace
