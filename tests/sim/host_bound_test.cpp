// tests/sim/host_bound_test.cpp -- who waits for the host is told so.
// SPDX-License-Identifier: Apache-2.0
#include "sim/host_bound.h"

#include <gtest/gtest.h>

#include "sim/predict.h"
#include "tests/support/toy.h"

namespace {

std::string warned(double launch_us, bool experts) {
  const spec::Job job = toy::job({}, [&](spec::Job& j) {
    j.framework.launch = j.framework.backward_launch = base::us(launch_us);
    if (!experts) return;
    j.model.moe = spec::Moe{.experts = 4, .top_k = 2, .ffn = 512};
    j.framework.expert_launch = base::us(launch_us);
  });
  return sim::host_bound(job, sim::predict(job).prediction).value_or("");
}

TEST(HostBound, IsToldWithWhatHelps) {
  EXPECT_EQ(warned(0, false), "");
  // 10 ms a launch, and kernels of microseconds.
  EXPECT_EQ(
      warned(10'000, false),
      "the GPUs wait for their host in 100 % of the step: larger microbatches, cuda_graphs: true or compile: true "
      "leave it less to launch");
  EXPECT_TRUE(warned(10'000, true).ends_with("expert_launch: 0us} where yours runs them at once"));
}

}  // namespace
