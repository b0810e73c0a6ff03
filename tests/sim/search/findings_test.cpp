// SPDX-License-Identifier: Apache-2.0
#include "sim/search/findings.h"

#include <gtest/gtest.h>

#include <random>

namespace {

sim::Findings drawn(unsigned seed) {
  std::mt19937_64 random(seed);
  sim::Findings out;
  for (std::int64_t* count :
       {&out.strategies, &out.fits, &out.priced, &out.bounded, &out.unwanted, &out.operator_level}) {
    *count = static_cast<std::int64_t>(random() >> 1);
  }
  out.complete = random() % 2 == 0;
  for (auto& counts : out.values) {
    for (auto i = random() % 4; i > 0; --i)
      counts[static_cast<spec::SearchValue>(random())] = static_cast<std::int64_t>(random() >> 1);
  }
  for (std::vector<sim::Standing>* some : {&out.standings, &out.nearest}) {
    for (auto i = random() % 5; i > 0; --i) {
      sim::Standing& one = some->emplace_back();
      one.time = std::uniform_real_distribution<double>(1e-9, 1e3)(random);
      one.bytes = static_cast<std::int64_t>(random() >> 1);
      for (spec::SearchValue& value : one.point.values) value = static_cast<spec::SearchValue>(random());
    }
  }
  return out;
}

TEST(Findings, ArriveAsTheyWere) {
  for (unsigned seed = 0; seed < 200; ++seed) EXPECT_EQ(sim::decoded(sim::encoded(drawn(seed))), drawn(seed)) << seed;
}

}  // namespace
