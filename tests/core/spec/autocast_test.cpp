// tests/core/spec/autocast_test.cpp -- whose training runs under torch.autocast, and what it does not go with.
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/autocast.h"

#include <gtest/gtest.h>

#include "tests/core/spec/small_job.h"

namespace spec {
namespace {

template <class Change>
Job in_pytorch(Change change) {
  return with([&](Job& j) {
    j.framework.name = "transformers";
    j.framework.keeps_casts = false;
    j.framework.autocasts = true;
    change(j);
  });
}

TEST(Autocast, IsTheFrameworksOwnWhereWeightsAreInFp32) {
  const auto resolved = [](auto change) {
    const Job job = resolve(in_pytorch(change));
    EXPECT_EQ(assumed(job, "autocast: true (default of transformers)"), *job.training.autocast);
    return *job.training.autocast;
  };
  EXPECT_TRUE(resolved([](Job&) {}));
  EXPECT_TRUE(resolved([](Job& j) { j.training.precision = Dtype::fp16; }));
  EXPECT_FALSE(resolved([](Job& j) { j.framework.autocasts = false; }));
  EXPECT_FALSE(resolved([](Job& j) { j.training.master_weights = false; }));
  EXPECT_FALSE(resolved([](Job& j) { j.training.precision = Dtype::fp32; }));
  EXPECT_FALSE(resolved([](Job& j) { j.strategy.zero = 3; }));
  EXPECT_FALSE(resolved([](Job& j) { j.strategy.tp = 2; }));
}

TEST(Autocast, IsRefusedByNameWhereItDoesNotGo) {
  const auto asked = [](auto change) {
    return fields(in_pytorch([&](Job& j) {
      j.training.autocast = true;
      change(j);
    }));
  };
  EXPECT_EQ(asked([](Job&) {}), Fields{});
  EXPECT_EQ(asked([](Job& j) { j.training.precision = Dtype::fp32; }), Fields{"training.autocast"});
  EXPECT_EQ(asked([](Job& j) { j.training.master_weights = false; }), Fields{"training.autocast"});
  EXPECT_EQ(asked([](Job& j) { j.training.gradient_dtype = Dtype::bf16; }), Fields{"training.autocast"});
  EXPECT_EQ(asked([](Job& j) { j.framework.keeps_casts = true; }), Fields{"training.autocast"});
  EXPECT_EQ(asked([](Job& j) { j.strategy.zero = 2; }), Fields{"training.autocast"});
  EXPECT_EQ(asked([](Job& j) { j.strategy.tp = 2; }), Fields{"training.autocast"});
  EXPECT_EQ(asked([](Job& j) { j.strategy.recompute.kind = Recompute::Kind::selective_ops; }),
            Fields{"training.autocast"});
}

}  // namespace
}  // namespace spec
