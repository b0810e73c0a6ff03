// tests/sim/cost/memory_bound_test.cpp -- overhead, efficiency by kind, growth with bytes.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/memory_bound.h"

#include <gtest/gtest.h>

#include "tests/sim/cost/toy_device.h"

namespace {

using Kind = plan::MemoryBound::Kind;

TEST(MemoryBound, EachKindUsesItsOwnEfficiencyAndEachLaunchItsOverhead) {
  sim::Device d = toy_device();
  d.calibration.memory[static_cast<std::size_t>(Kind::norm)] = {.efficiency = 0.5, .overhead = base::us(4), .from = {}};
  // 3 MB + 1 MB at 500 GB/s: 8 us; three launches: 12 us.
  const plan::MemoryBound w{.kind = Kind::norm, .read = 3000000, .written = 1000000, .kernels = 3};
  EXPECT_NEAR(sim::price(w, d).time.si(), 20e-6, 1e-15);
  plan::MemoryBound copy = w;
  copy.kind = Kind::copy;  // not calibrated: the data sheet, 4 us
  EXPECT_NEAR(sim::price(copy, d).time.si(), 4e-6, 1e-15);
}
TEST(MemoryBound, MoreBytesAreNeverFaster) {
  const sim::Device d = toy_device();
  for (std::int64_t bytes = 0; bytes < 100000000; bytes += 999999) {
    EXPECT_LE(sim::price(plan::MemoryBound{.read = bytes}, d).time,
              sim::price(plan::MemoryBound{.read = bytes + 1}, d).time);
  }
}

}  // namespace
