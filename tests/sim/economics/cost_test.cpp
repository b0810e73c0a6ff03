// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/cost.h"

#include <gtest/gtest.h>

namespace {

using namespace base;

/// Nodes of 8 GPUs at $2.50 an hour, $240k and 10 kW each; PUE 1.2, $0.10 a kWh, 5 years (43,800 h), half of them used.
spec::Candidate rented() {
  spec::Candidate c;
  c.job.cluster.node.gpus = 8;
  c.job.cluster.node.power = Watts(10e3);
  c.rent.emplace().value = usd_per_hour(2.5);
  c.price.emplace().value = usd(240e3);
  return c;
}
spec::Candidate bought() {
  spec::Candidate c = rented();
  c.bought = true;
  return c;
}
spec::Ownership ownership() {
  spec::Ownership own;
  own.pue.value = 1.2;
  own.electricity.value = usd_per_kwh(0.1);
  own.life.value = days(5 * 365);
  own.use.value = 0.5;
  return own;
}

TEST(Cost, RentIsEveryGpuOfEveryNodeForTheTime) {
  // 10 nodes of 8 GPUs for 100 h at $2.50
  EXPECT_NEAR(sim::running_cost(rented(), ownership(), 10).over(hours(100)).dollars(), 20'000, 1e-6);
}

TEST(Cost, AnOwnedNodeWearsOutInTheHoursThatItIsUsedAndTakesElectricity) {
  // $2.4M over 21,900 h are $109.589 an hour; 100 kW x 1.2 x $0.10 are $12. 100 h of both.
  EXPECT_NEAR(sim::running_cost(bought(), ownership(), 10).over(hours(100)).dollars(), 12'158.90, 0.01);
}

TEST(Cost, PowerIsRatedAndOfTheBuildingToo) { EXPECT_EQ(sim::power_of(rented(), ownership(), 10), Watts(120e3)); }

TEST(Cost, RentAndPurchaseTieAfterTheHoursOfTheFormula) {
  // A node saves $20 an hour of rent and takes $1.20 of electricity: $240,000 / $18.80 = 12,765.96 h.
  const auto time = sim::break_even(bought(), ownership());
  ASSERT_TRUE(time);
  EXPECT_NEAR(*time / hours(1), 12'765.957, 0.001);
  const Money rent = usd_per_hour(20) * *time, own = usd(240e3) + usd_per_hour(1.2) * *time;
  EXPECT_NEAR(rent.dollars(), own.dollars(), 1e-6);
}

TEST(Cost, RentBelowTheElectricityIsNeverBeaten) {
  spec::Candidate c = bought();
  c.rent->value = usd_per_hour(0.15);  // $1.20 for 8 GPUs
  EXPECT_FALSE(sim::break_even(c, ownership()));
  c.rent.reset();
  EXPECT_FALSE(sim::break_even(c, ownership()));
}

TEST(Cost, ThePriceForATargetIsWhereTheCostIsThatTarget) {
  for (const spec::Candidate& c : {rented(), bought()}) {
    sim::RunningCost cost = sim::running_cost(c, ownership(), 4);
    const double factor = cost.price_factor(usd(3000), hours(50));
    cost.of_price = cost.of_price * factor;
    EXPECT_NEAR(cost.over(hours(50)).dollars(), 3000, 1e-6);
  }
}

}  // namespace
