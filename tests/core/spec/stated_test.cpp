// tests/core/spec/stated_test.cpp -- what resolve() filled in is taken back and filled in anew.
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/stated.h"

#include <gtest/gtest.h>

#include "tests/core/spec/small_job.h"

namespace spec {
namespace {

/// Its defaults hang on zero: gradients of 16 bits are of shards, linears apart of models under zero 2 and 3.
Job job_of_many_defaults() {
  Job job = small_job();
  job.strategy.tp = 2;
  job.model.gated_mlp = true;
  job.model.vocab = 32'001;  // padded for tp
  job.framework.own_models = true;
  job.framework.sharded_gradients_in_16_bits = true;
  return job;
}

TEST(Stated, NothingIsLeftOfWhatWasFilledIn) {
  const Job given = job_of_many_defaults();
  const Job resolved = resolve(given);
  EXPECT_NE(resolved.model.vocab, given.model.vocab);
  EXPECT_FALSE(resolved.assumptions.empty());
  const Job back = unresolved(resolved);
  EXPECT_EQ(back.model.vocab, given.model.vocab);
  EXPECT_EQ(back.strategy.dp, given.strategy.dp);
  EXPECT_EQ(back.training.gradient_dtype, given.training.gradient_dtype);
  EXPECT_EQ(back.assumptions, given.assumptions);
  EXPECT_FALSE(back.stated.has_value());
  EXPECT_EQ(resolve(back).assumptions, resolved.assumptions);
}

TEST(Stated, AChangedJobHasDefaultsOfItsOwn) {
  Job job = job_of_many_defaults();
  job.strategy.zero = 3;
  const Job sharded = resolve(job);
  EXPECT_TRUE(sharded.framework.separate_linears);
  EXPECT_EQ(sharded.training.gradients(), Dtype::bf16);
  Job changed = unresolved(sharded);
  changed.strategy.zero = 0;
  changed = resolve(changed);
  EXPECT_FALSE(changed.framework.separate_linears);
  EXPECT_EQ(changed.training.gradients(), Dtype::fp32);
}

TEST(Stated, HardwareThatWasChangedSinceStaysSo) {
  Job job = resolve(small_job());
  job.cluster.node.gpu.memory = base::GB(7);
  EXPECT_EQ(unresolved(job).cluster.node.gpu.memory.si(), 7e9);
}

}  // namespace
}  // namespace spec
